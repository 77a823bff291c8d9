// SPDX-License-Identifier: Apache-2.0
//
// The words of the closed enums, as they stand in JSON.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "verdict/verdict.h"

namespace ww::verdict {

inline constexpr std::array<std::pair<Outcome, std::string_view>, 9> kOutcomeNames = {{
    {Outcome::kPass, "pass"},
    {Outcome::kWrong, "wrong"},
    {Outcome::kBuildError, "build_error"},
    {Outcome::kCrash, "crash"},
    {Outcome::kTimeout, "timeout"},
    {Outcome::kOutOfMemory, "out_of_memory"},
    {Outcome::kForbidden, "forbidden"},
    {Outcome::kCheat, "cheat"},
    {Outcome::kNoVerdict, "no_verdict"},
}};

inline constexpr std::array<std::pair<EvidenceKind, std::string_view>, 19> kEvidenceNames = {{
    {EvidenceKind::kClockMismatch, "clock_mismatch"},
    {EvidenceKind::kMessageForged, "message_forged"},
    {EvidenceKind::kRanWhileStopped, "ran_while_stopped"},
    {EvidenceKind::kGuardWritten, "guard_written"},
    {EvidenceKind::kInputWritten, "input_written"},
    {EvidenceKind::kHoneyFailed, "honey_failed"},
    {EvidenceKind::kEscapeAttempt, "escape_attempt"},
    {EvidenceKind::kLibrary, "library"},
    {EvidenceKind::kCompiler, "compiler"},
    {EvidenceKind::kExit, "exit"},
    {EvidenceKind::kLimit, "limit"},
    {EvidenceKind::kBoundExceeded, "bound_exceeded"},
    {EvidenceKind::kRejudged, "rejudged"},
    {EvidenceKind::kDisturbance, "disturbance"},
    {EvidenceKind::kConstantsKept, "constants_kept"},
    {EvidenceKind::kBaselineCached, "baseline_cached"},
    {EvidenceKind::kConfigSkipped, "config_skipped"},
    {EvidenceKind::kIsolation, "isolation"},
    {EvidenceKind::kFault, "fault"},
}};

template <class Enum, size_t N>
std::string_view name_in(const std::array<std::pair<Enum, std::string_view>, N>& names, Enum value) {
  for (const auto& [candidate, text] : names) {
    if (candidate == value) return text;
  }
  WW_CHECK(false, "an enumerator without a name");
  return {};
}

template <class Enum, size_t N>
std::optional<Enum> find_in(const std::array<std::pair<Enum, std::string_view>, N>& names, std::string_view text) {
  for (const auto& [value, candidate] : names) {
    if (candidate == text) return value;
  }
  return std::nullopt;
}

}  // namespace ww::verdict
