// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C and SIGTERM: the first asks to stop at the next safe point, the second ends the program at once.
#pragma once

#include <atomic>

namespace ww::cli {

/// Installs the handlers; process-wide, once.
void watch_for_interrupt();

/// Set by the first signal.
const std::atomic<bool>& interrupted();

/// Throws Fault{kInterrupted} if the user has asked to stop.
void stop_if_interrupted();

}  // namespace ww::cli
