// SPDX-License-Identifier: Apache-2.0
//
// What people read in a terminal: verdicts, an optimisation, an admission, the machine. Formatting only: every figure
// was found elsewhere. Texts end with a newline. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "verdict/verdict.h"

namespace ww::report {

struct Style {
  bool color = false;
};

/// "2.58x eager [2.53, 2.62]   1.41x compile [1.38, 1.44]"; empty without figures.
std::string speedups(const verdict::Speedup& speedup);

/// "gelu_layernorm · cpu, 2 cores, AVX-512 · fp32 · 3 workloads · isolation full". `workloads`: the task's; a verdict
/// that is no pass may have stopped before the last.
std::string headline(const verdict::Verdict& verdict, size_t workloads);

/// One line: the outcome, the speed-ups or the reason.
std::string summary(const verdict::Verdict& verdict, Style style);

/// A workload's outcome, times and speed-ups, in lines that are not long. Requires: it has figures.
std::string workload_block(const verdict::WorkloadVerdict& workload, Style style);

/// Headline, summary, a line a workload, evidence, and for a timed pass why to believe it.
std::string verdict_text(const verdict::Verdict& verdict, size_t workloads, Style style);

/// "  2  fused rows   pass   2.41x eager [2.37, 2.45]".
std::string attempt_line(int number, std::string_view name, const verdict::Verdict& verdict, Style style);

/// "why believe it: ..." in sentences that the verdict bears out. Requires: a timed pass.
std::string belief(const verdict::Verdict& verdict);

struct Winner {
  std::string folder;
  verdict::Verdict verdict;  ///< of the confirming judging
};
std::string winner_text(const Winner& winner, Style style);

struct AdmissionText {
  std::string task;
  bool admitted = false;
  size_t workloads = 0;
  std::vector<std::string> problems, weak, skipped;
};
std::string admission_text(const AdmissionText& admission, Style style);

/// Nested facts as aligned lines, for doctor.
std::string facts_text(const Json& facts, Style style);

}  // namespace ww::report
