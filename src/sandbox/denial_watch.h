// SPDX-License-Identifier: Apache-2.0
//
// Learns from the kernel which system call a confined program was denied. The filter of confine.h then does not kill
// but notifies: the call hangs, never to be carried out, until this watch ends the program. Internal to sandbox/.
#pragma once

#include <atomic>
#include <thread>

#include "base/fd.h"

namespace ww::sandbox {

/// [program] Sends the listener of its filter; closes both descriptors. Returns 0 or an errno.
int send_listener(int channel, int listener);

/// [parent] A sleeping thread that kills the program at the first denied call. Started once the program runs; the
/// destructor requires that the program has ended.
class DenialWatch {
 public:
  /// Throws Fault.
  DenialWatch(Fd channel, const Fd& pidfd);
  DenialWatch(const DenialWatch&) = delete;
  DenialWatch& operator=(const DenialWatch&) = delete;
  ~DenialWatch();

  /// Number of the denied call, -1 if there was none. Complete once the program has ended and finish() returned.
  int denied() const { return denied_.load(); }
  /// Requires: the program has ended.
  void finish();

 private:
  void watch();
  Fd receive_listener();

  Fd channel_;
  Fd pidfd_;
  std::atomic<int> denied_{-1};
  std::thread thread_;
};

}  // namespace ww::sandbox
