// SPDX-License-Identifier: Apache-2.0
//
// Judges attacks and honest twins and says which were taken for what they are not.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/test_corpus.h"
#include "judge/judge.h"
#include "verdict/verdict.h"

namespace ww::cli {

enum class Standing {
  kRejected,    ///< an attack that gained nothing
  kAccepted,    ///< an attack that succeeded: the judge has failed
  kUnexpected,  ///< an attack that gained nothing, with an outcome it may not get
  kPassed,      ///< a twin
  kRefused,     ///< a twin that did not pass: the judge has failed
  kNoVerdict,
  kNotJudged,  ///< its task or folder was refused: the corpus is wrong
};

std::string_view name(Standing standing);
/// True for those that count as failed tests. kNoVerdict does not: only too many of them are a failure.
bool is_failure(Standing standing);

struct CorpusResult {
  CorpusEntry entry;
  Standing standing = Standing::kNotJudged;
  std::string note;  ///< why, in one line
  std::optional<verdict::Verdict> verdict;
  std::optional<verdict::Ratio> control;  ///< the control's speed-up over eager, where it was compared
  double seconds = 0;
};

/// Gained by at least this factor, in two judgings: accepted. A cheat that is worth its risk gains more; two judgings
/// of the same solution differ by less (docs/statistics.md).
inline constexpr double kAcceptedGain = 1.15;

/// Whether `attack`, at the low end of its interval, is faster than `control`. The low end is what rewards and rankings
/// use, and what no claim of the solution moves. Requires: timed against eager.
bool gains(const verdict::Verdict& attack, const verdict::Ratio& control);
/// What one judging says, the speed aside. kRejected for a pass that has a control to be compared with.
Standing standing_of(const CorpusEntry& entry, verdict::Outcome outcome);

/// Twins before the attacks they control, tasks together, so that little is loaded twice.
std::vector<CorpusEntry> in_judging_order(std::vector<CorpusEntry> twins, std::vector<CorpusEntry> attacks);

class CorpusRun {
 public:
  /// Both are borrowed. `repository` holds tasks/ and tests/.
  CorpusRun(judge::Judge& judge, fs::path repository, std::function<void(const judge::Progress&)> on_progress);

  CorpusResult judge(const CorpusEntry& entry);

 private:
  Result<verdict::Verdict> judge_once(const task::Task& task, const CorpusEntry& entry);
  void compare_with_control(const task::Task& task, CorpusResult& result);

  judge::Judge& judge_;
  fs::path repository_;
  std::function<void(const judge::Progress&)> on_progress_;
  std::map<std::string, CorpusResult> twins_;  ///< judged so far, by name
};

}  // namespace ww::cli
