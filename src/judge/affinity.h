// SPDX-License-Identifier: Apache-2.0
//
// Which core a thread runs on is the judge's choice, the same on every side. Two threads that the scheduler puts on one
// core while another is free make a call several times longer, for as long as they stay there.
#pragma once

#include <sys/types.h>

namespace ww::judge {

/// A process with exactly as many threads as there are cores gets one thread a core; any other runs wherever it likes,
/// for threads made within a call take over their maker's core. Requires: the process is stopped. Thread-safe. What the
/// kernel refuses is left as it is.
void spread_threads(pid_t pid);

}  // namespace ww::judge
