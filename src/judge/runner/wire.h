// SPDX-License-Identifier: Apache-2.0
//
// What the judge and ww-runner share, byte for byte (docs/formats/runner.md). Both sides come from one build; nothing
// here is a public promise. The call block lies at the start of the arena that the runner can only read, the report at
// the start of the arena that it can write: whatever stands in a report is a claim.
#pragma once

#include <cstdint>

#include "warpwright/solution.h"

namespace ww::judge::wire {

inline constexpr int kGoFd = 3;
inline constexpr int kDoneFd = 4;
inline constexpr int kReadOnlyFd = 5;
inline constexpr int kWritableFd = 6;
inline constexpr int kDenialFd = 7;  ///< until the runner has confined itself

inline constexpr char kProgramPath[] = "/runner/ww-runner";
inline constexpr char kSolutionPath[] = "/solution/solution.so";

/// What the done record's status means for operations other than kForward and kPrepare, whose status is the solution's.
enum Status : int32_t { kOk = 0, kRefused = 2 };

enum class Operation : int32_t {
  kEnter = 1,  ///< map, guard, confine; before hostile code
  kLoad,       ///< dlopen, look the functions up, ask the config count
  kSizes,      ///< packed and workspace bytes
  kPrepare,
  kForward,
  kSpin,  ///< trusted: every thread spins
};

/// A part of an arena that the runner makes inaccessible for itself.
struct Guard {
  uint64_t offset;
  uint64_t bytes;
};

/// Written by the judge before the runner starts and, from then on, while it is stopped.
struct CallBlock {
  uint64_t sequence;
  Operation operation;
  int32_t threads;
  int64_t spin_ns;
  uint64_t guards[2];  ///< offsets, in this arena, of the lists for the read-only and the writable arena
  uint64_t guard_counts[2];
  ww_call call;  ///< addresses are the runner's
};

inline constexpr int kTextBytes = 1024;

struct Report {
  uint64_t bases[2];  ///< where the runner mapped the read-only and the writable arena
  int32_t has_landlock;
  int32_t has_seccomp;
  int32_t loaded;  ///< dlopen succeeded
  int32_t has_abi;
  int32_t abi;
  int32_t has_forward;
  int32_t has_prepare;
  int32_t config_count;
  uint64_t packed_bytes;
  uint64_t workspace_bytes;
  char text[kTextBytes];  ///< why something was refused; NUL-terminated if honest
};

}  // namespace ww::judge::wire
