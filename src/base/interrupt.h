// SPDX-License-Identifier: Apache-2.0
//
// Someone asked this process to stop (Ctrl-C). Whatever here waits for another process waits for this too and throws
// Fault{kInterrupted}, so that unwinding ends children and removes what is temporary. Process-wide, set once, never
// withdrawn. Thread-safe.
#pragma once

#include <atomic>

namespace ww {

/// For signal handlers: async-signal-safe once interrupt_fd() was called. Returns true if it was asked before.
bool request_stop() noexcept;

const std::atomic<bool>& interrupted();

/// Throws Fault{kInterrupted} where a stop was asked for.
void stop_if_interrupted();

/// Readable once a stop was asked for: one more descriptor for a poll. Never read from it. Throws Fault.
int interrupt_fd();

}  // namespace ww
