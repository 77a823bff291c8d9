// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json.h"

namespace ww::report {
namespace {

using verdict::Outcome;

std::string paint(std::string_view text, int code, Style style) {
  return style.color ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

constexpr int kRed = 31, kGreen = 32, kYellow = 33;

std::string outcome_word(Outcome outcome, Style style) {
  const int code = outcome == Outcome::kPass ? kGreen : outcome == Outcome::kNoVerdict ? kYellow : kRed;
  return paint(verdict::name(outcome), code, style);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string time_text(const verdict::SideTime& time) {
  const double half_width = std::max(time.high_us - time.time_us, time.time_us - time.low_us);
  const double percent = time.time_us > 0 ? 100 * half_width / time.time_us : 0;
  if (time.time_us >= 10'000) return fmt::format("{:.2f} ms ±{:.1f} %", time.time_us / 1000, percent);
  return fmt::format("{:.1f} us ±{:.1f} %", time.time_us, percent);
}

std::string workload_line(const verdict::WorkloadVerdict& workload, size_t name_width, Style style) {
  std::string line =
      fmt::format("  {:<{}}  {}", workload.name, name_width, outcome_word(workload.conclusion.outcome(), style));
  if (workload.config) line += fmt::format("  config {}", *workload.config);
  if (!workload.conclusion.passed()) line += "  " + first_line(workload.conclusion.reason());
  if (const auto& figures = workload.conclusion.figures()) {
    line += "  " + time_text(figures->times.solution);
    if (figures->times.eager) line += "   eager " + time_text(*figures->times.eager);
    if (figures->times.compile) line += "   compile " + time_text(*figures->times.compile);
    line += "   " + speedups(figures->speedup);
  }
  return line + "\n";
}

std::string failure_line(const verdict::Failure& failure) {
  std::string where = failure.output;
  if (!failure.index.empty()) where += fmt::format("[{}]", fmt::join(failure.index, ", "));
  return fmt::format(
      "  first wrong element: {} of workload {}: expected {:.9g}, got {:.9g} ({:.3g} times what is "
      "allowed; inputs drawn as \"{}\", input seed {}, weight seed {})\n",
      where, failure.workload, failure.expected, failure.got, failure.error, failure.pattern, failure.input_seed,
      failure.weight_seed);
}

std::string indent(const std::string& text, std::string_view margin) {
  std::string indented;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    indented += std::string(margin) + text.substr(start, end - start) + "\n";
    start = end + 1;
  }
  return indented;
}

/// The clock's own error beside the time, worst over the workloads, in percent.
std::optional<double> clock_error_percent(const verdict::Verdict& verdict) {
  std::optional<double> worst;
  for (const auto& workload : verdict.workloads) {
    const auto& figures = workload.conclusion.figures();
    if (!figures || figures->times.solution.time_us <= 0) continue;
    const double percent = 100 * figures->times.solution.error_us / figures->times.solution.time_us;
    worst = std::max(worst.value_or(0), percent);
  }
  return worst;
}

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "-";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return value.dump();
}

bool plain_list(const Json& value) {
  return value.is_array() && std::none_of(value.begin(), value.end(), [](const Json& v) { return v.is_structured(); });
}

void add_facts(const Json& facts, const std::string& margin, Style style, std::string& text) {
  size_t width = 0;
  for (const auto& [key, value] : facts.items()) width = std::max(width, key.size());
  for (const auto& [key, value] : facts.items()) {
    const std::string label = fmt::format("{}{:<{}}", margin, key, width);
    if (value.is_object()) {
      text += fmt::format("{}{}\n", margin, key);
      add_facts(value, margin + "  ", style, text);
    } else if (value.is_array() && value.empty()) {
      text += label + "  none\n";
    } else if (plain_list(value)) {
      for (size_t i = 0; i < value.size(); i++) {
        const std::string line =
            key == "missing" ? paint(scalar_text(value[i]), kYellow, style) : scalar_text(value[i]);
        text += (i == 0 ? label : std::string(label.size(), ' ')) + "  " + line + "\n";
      }
    } else if (value.is_array()) {
      text += fmt::format("{}{}\n", margin, key);
      for (const Json& item : value) {
        if (item.is_object()) {
          add_facts(item, margin + "  ", style, text);
        } else {
          text += margin + "  " + scalar_text(item) + "\n";
        }
      }
    } else {
      text += label + "  " + scalar_text(value) + "\n";
    }
  }
}

}  // namespace

std::string speedups(const verdict::Speedup& speedup) {
  std::string text;
  const auto add = [&](const std::optional<verdict::Ratio>& ratio, std::string_view side) {
    if (!ratio) return;
    if (!text.empty()) text += "   ";
    text += fmt::format("{:.2f}x {} [{:.2f}, {:.2f}]", ratio->ratio, side, ratio->low, ratio->high);
  };
  add(speedup.eager, "eager");
  add(speedup.compile, "compile");
  return text;
}

std::string headline(const verdict::Verdict& verdict, size_t workloads) {
  std::string text = fmt::format("{} · {}, {} cores", verdict.task.name, verdict.device.name, verdict.device.cores);
  if (!verdict.device.features.empty()) text += ", " + verdict.device.features;
  const auto contract = parse_json(verdict.contract, "contract");
  if (contract && contract->is_object() && contract->contains("precision")) {
    text += " · " + scalar_text((*contract)["precision"]);
  }
  text += fmt::format(" · {} workload{}", workloads, workloads == 1 ? "" : "s");
  if (!verdict.isolation.level.empty()) text += " · isolation " + verdict.isolation.level;
  return text + "\n";
}

std::string summary(const verdict::Verdict& verdict, Style style) {
  std::string line = outcome_word(verdict.outcome(), style);
  if (!verdict.passed()) line += "   " + first_line(verdict.conclusion.reason());
  if (const auto& figures = verdict.conclusion.figures()) line += "   " + speedups(figures->speedup);
  return line + "\n";
}

std::string workload_block(const verdict::WorkloadVerdict& workload, Style style) {
  const auto& figures = workload.conclusion.figures();
  WW_CHECK(figures, "a workload without times has no block");
  std::string text = fmt::format("  {}  {}", workload.name, outcome_word(workload.conclusion.outcome(), style));
  if (workload.config) text += fmt::format("  config {}", *workload.config);
  text += "   " + time_text(figures->times.solution);
  if (figures->times.eager) text += "   eager " + time_text(*figures->times.eager);
  if (figures->times.compile) text += "   compile " + time_text(*figures->times.compile);
  return text + "\n    " + speedups(figures->speedup) + "\n";
}

std::string verdict_text(const verdict::Verdict& verdict, size_t workloads, Style style) {
  std::string text = headline(verdict, workloads) + summary(verdict, style);
  size_t width = 0;
  for (const auto& workload : verdict.workloads) width = std::max(width, workload.name.size());
  for (const auto& workload : verdict.workloads) text += workload_line(workload, width, style);
  if (verdict.trials.first_failure) text += failure_line(*verdict.trials.first_failure);
  for (const auto& evidence : verdict.evidence) {
    const std::string_view kind = verdict::name(evidence.kind);
    if (evidence.text.find('\n') == std::string::npos) {
      text += fmt::format("  {}: {}\n", kind, evidence.text);
    } else {
      text += fmt::format("  {}:\n", kind) + indent(evidence.text, "    ");
    }
  }
  for (const auto& straw : verdict.weak_task) text += paint("  weak task: ", kYellow, style) + straw + "\n";
  if (verdict.conclusion.figures()) text += belief(verdict);
  return text;
}

std::string attempt_line(int number, std::string_view name, const verdict::Verdict& verdict, Style style) {
  return fmt::format("{:>3}  {:<28}  {}", number, name, summary(verdict, style));
}

std::string belief(const verdict::Verdict& verdict) {
  const auto& trials = verdict.trials;
  std::string text = fmt::format(
      "why believe it: {} calls timed, {} checked on fresh data; worst error {:.2g} of what is "
      "allowed",
      trials.timed, trials.checked, trials.worst_error);
  if (const auto percent = clock_error_percent(verdict)) {
    text += fmt::format(";\n  outside clock known within {:.1f} %", *percent);
  }
  if (verdict.weak_task.empty()) {
    text += "; no straw solution passes this task";
  } else {
    text += fmt::format("; but {} straw solution{} pass{} this weak task", verdict.weak_task.size(),
                        verdict.weak_task.size() == 1 ? "" : "s", verdict.weak_task.size() == 1 ? "es" : "");
  }
  text += fmt::format("; {} honey rounds clean", trials.honey);
  if (verdict.isolation.level != "full") {
    text +=
        fmt::format(";\n  isolation is {}: {}", verdict.isolation.level, fmt::join(verdict.isolation.missing, "; "));
  }
  return text + ".\n";
}

std::string winner_text(const Winner& winner, Style style) {
  const auto& figures = winner.verdict.conclusion.figures();
  return fmt::format("{}  {}   {}\n{}Use it: from {}/module.py import ModelNew\n", paint("winner", kGreen, style),
                     winner.folder, figures ? speedups(figures->speedup) : "", belief(winner.verdict), winner.folder);
}

std::string admission_text(const AdmissionText& admission, Style style) {
  const bool weak = !admission.weak.empty();
  const std::string word = !admission.admitted ? paint("refused", kRed, style)
                           : weak              ? paint("weak", kYellow, style)
                                               : paint("ok", kGreen, style);
  std::string text = fmt::format("{:<28}  {}", admission.task, word);
  if (admission.admitted) {
    text += fmt::format("   {} workload{}", admission.workloads, admission.workloads == 1 ? "" : "s");
    if (!weak) text += ", no straw solution passes";
  }
  text += "\n";
  for (const auto& problem : admission.problems) text += indent(problem, "    ");
  for (const auto& straw : admission.weak) text += "    passes though it is wrong: " + straw + "\n";
  for (const auto& straw : admission.skipped) text += "    not judged: " + straw + "\n";
  return text;
}

std::string facts_text(const Json& facts, Style style) {
  std::string text;
  add_facts(facts, "", style, text);
  return text;
}

}  // namespace ww::report
