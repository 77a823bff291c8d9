// SPDX-License-Identifier: Apache-2.0
//
// Processes whose calls are timed go before other work on the machine, all of them alike: else a loaded machine delays
// the threads of a call, and their stopping, by scheduler slices of milliseconds.
#pragma once

#include <sys/types.h>

namespace ww::judge {

/// Raises the process's priority, and that of the session's group where the kernel schedules by sessions. Requires: it
/// has one thread (threads made later inherit). False where the machine does not let us; nothing has changed then.
bool prefer(pid_t process);

/// While it lives, the calling thread runs before all ordinary work, preferred processes included: who reads the outer
/// clock must not wait for a scheduler tick (4 ms were seen) until a spinning thread of the timed process makes room.
/// Children do not inherit it. Where the machine does not let us, nothing happens.
class Foremost {
 public:
  Foremost();
  ~Foremost();
  Foremost(const Foremost&) = delete;
  Foremost& operator=(const Foremost&) = delete;

 private:
  bool raised_ = false;
};

}  // namespace ww::judge
