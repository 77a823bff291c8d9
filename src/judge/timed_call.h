// SPDX-License-Identifier: Apache-2.0
//
// The measured call: stop, verified; stage; the continue signal is the go; done; stop, verified; clock closed.
// The same engine times every side: the native runner, the referee's child, the trusted twins. Single-threaded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace ww::judge {

/// A process that can be stopped, staged and released. Descriptors are borrowed.
struct Endpoint {
  pid_t pid = 0;           ///< in our pid namespace
  bool our_child = false;  ///< then waitid verifies a stop; else /proc does
  int go_fd = -1;          ///< eventfd: one token releases one call
  int done_fd = -1;        ///< read end of the pipe of done records
  /// A side that gains nothing by going on after its word (the referee, the twin of its kind): its clock is closed when
  /// the done record arrives, for the stop of a process that is not our child is seen tens of microseconds late.
  bool closed_by_word = false;
};

/// docs/formats/referee.md, "Done record". A claim of the other side.
struct DoneRecord {
  uint64_t sequence;
  int64_t inner_ns;
  int32_t status;
  int32_t zero;
};

enum class CallEnd {
  kDone,
  kDied,        ///< the process ended before it was done
  kTimeout,     ///< still running at the limit; it has been stopped
  kUnexpected,  ///< a record with another sequence, a second record, or a malformed one
};

/// A go that comes later than this after staging ended: what was staged may have been disturbed.
inline constexpr nanoseconds kLateGo{50'000};

struct CallTimes {
  CallEnd end = CallEnd::kDone;
  nanoseconds outer{};              ///< from go to verified stop, or to the done record (Endpoint::closed_by_word)
  nanoseconds inner{};              ///< as claimed
  int32_t status = 0;               ///< as claimed
  nanoseconds stage_to_go{};        ///< end of staging to go; over kLateGo is restaged, a few times
  nanoseconds cpu_while_stopped{};  ///< processor time the process used between the two stops around staging
  uint64_t stray_records = 0;       ///< records, or tokens in the go, found when none was due
};

/// SIGSTOP, verified; false if the process is gone. Idempotent.
bool stop(const Endpoint& endpoint);
/// SIGCONT with no call released (to let the referee answer requests).
void resume(const Endpoint& endpoint);

/// One call. Requires: the other side already waits (or will wait) on go. `stage` runs while the process is stopped.
/// The process is left stopped. Throws Fault only for faults of ours.
CallTimes timed_call(const Endpoint& endpoint, uint64_t sequence, const std::function<void()>& stage,
                     nanoseconds limit);

}  // namespace ww::judge
