// SPDX-License-Identifier: Apache-2.0
#include "cli/test_command.h"

#include <fmt/format.h>

#include <regex>
#include <set>

#include "base/interrupt.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/test_attacks.h"
#include "cli/test_cases.h"
#include "cli/test_sandbox.h"

namespace ww::cli {
namespace {

/// More of these, and the run says nothing about the judge.
constexpr double kNoVerdictLimit = 0.02;

struct Work {
  std::vector<CorpusEntry> corpus;  ///< of one pass, in order
  std::vector<Case> cases;
  std::vector<Probe> probes;
  int passes = 1;

  bool judges() const { return !corpus.empty() || !cases.empty(); }
  size_t steps() const { return probes.size() + corpus.size() * static_cast<size_t>(passes) + cases.size(); }
};

struct Tally {
  int passed = 0, failed = 0;
  int accepted = 0, rejected = 0, unexpected = 0;  ///< attacks
  int twins_passed = 0, twins_rejected = 0;
  int no_verdict = 0, judged = 0;
  int probes = 0, escaped = 0, not_provable = 0;

  void add(const ProbeResult& result) {
    probes++;
    escaped += result.wall == Wall::kEscaped;
    not_provable += result.wall == Wall::kNotProvable;
    passed += result.wall == Wall::kHeld;
    failed += is_failure(result.wall);
  }
  void add(const CorpusResult& result) {
    judged++;
    accepted += result.standing == Standing::kAccepted;
    rejected += result.standing == Standing::kRejected;
    unexpected += result.standing == Standing::kUnexpected;
    twins_passed += result.standing == Standing::kPassed;
    twins_rejected += result.standing == Standing::kRefused;
    no_verdict += result.standing == Standing::kNoVerdict;
    if (result.standing != Standing::kNoVerdict) (is_failure(result.standing) ? failed : passed)++;
  }
  bool too_many_without_verdict() const { return no_verdict > kNoVerdictLimit * judged; }
};

/// The first attack of each family, and the rest left out.
std::vector<CorpusEntry> one_of_each_family(const std::vector<CorpusEntry>& attacks) {
  std::set<std::string> seen;
  std::vector<CorpusEntry> chosen;
  for (const CorpusEntry& attack : attacks) {
    if (seen.insert(attack.family).second) chosen.push_back(attack);
  }
  return chosen;
}

/// Drops what the filter does not name; twins that a remaining attack is compared with stay.
void apply_filter(const std::regex& filter, std::vector<CorpusEntry>& twins, std::vector<CorpusEntry>& attacks) {
  const auto is_unnamed = [&](const CorpusEntry& entry) { return !std::regex_search(entry.name, filter); };
  std::erase_if(attacks, is_unnamed);
  std::set<std::string> controls;
  for (const CorpusEntry& attack : attacks) controls.insert(attack.control);
  std::erase_if(twins, [&](const CorpusEntry& twin) { return is_unnamed(twin) && !controls.contains(twin.name); });
}

Result<Work> plan(const TestOptions& options, const Environment& environment) {
  const fs::path tests = environment.home / "tests";
  const bool everything = !options.attacks && !options.cases && !options.sandbox;
  Work work{.corpus = {}, .cases = {}, .probes = {}, .passes = options.passes};
  const std::regex filter(options.filter);
  if (everything || options.sandbox) {
    auto probes = read_probes(tests / "sandbox");
    if (!probes) return probes.error();
    std::erase_if(*probes, [&](const Probe& probe) { return !std::regex_search(probe.name, filter); });
    work.probes = std::move(*probes);
  }
  if (everything || options.attacks) {
    auto twins = read_twins(tests / "honest");
    if (!twins) return twins.error();
    auto attacks = read_attacks(tests / "attacks");
    if (!attacks) return attacks.error();
    apply_filter(filter, *twins, *attacks);
    if (options.quick) *attacks = one_of_each_family(*attacks);
    work.corpus = in_judging_order(std::move(*twins), std::move(*attacks));
  }
  if (everything || options.cases) {
    auto cases = read_cases(tests / "cases");
    if (!cases) return cases.error();
    std::erase_if(*cases, [&](const Case& entry) { return !std::regex_search(entry.name, filter); });
    work.cases = std::move(*cases);
  }
  if (work.steps() == 0) return Error{"no test is named like " + options.filter, ""};
  return work;
}

/// Says on stderr which step runs and how long the rest will take, and results on stdout.
class Screen {
 public:
  Screen(size_t steps, bool json) : steps_(steps), json_(json), start_(now()) {}

  void begin(const std::string& subject) { progress_.begin(fmt::format("{}/{} {}", done_ + 1, steps_, subject)); }
  void during(const judge::Progress& progress) { progress_.show({progress.stage, progress.workload, share(), left()}); }

  void show(const CorpusResult& result) {
    const CorpusEntry& entry = result.entry;
    if (json_) {
      Json line = {{"kind", entry.hostile ? "attack" : "twin"},
                   {"name", entry.name},
                   {"family", entry.family},
                   {"standing", name(result.standing)},
                   {"failed", is_failure(result.standing)},
                   {"note", result.note},
                   {"seconds", result.seconds},
                   {"verdict", result.verdict ? verdict::to_json(*result.verdict) : Json()}};
      return put("", line);
    }
    const std::string outcome = result.verdict ? std::string(verdict::name(result.verdict->outcome())) : "";
    put(fmt::format("{:<10} {:<6} {:<28} {:<12} {:5.1f} s  {}\n", name(result.standing),
                    entry.hostile ? entry.family : "twin", entry.name, outcome, result.seconds, one_line(result.note)),
        {});
  }

  void show(const ProbeResult& result) {
    const Probe& probe = result.probe;
    if (json_) {
      return put("", Json{{"kind", "probe"},
                          {"name", probe.name},
                          {"tries_to", probe.kind},
                          {"layer", probe.layer},
                          {"standing", name(result.wall)},
                          {"failed", is_failure(result.wall)},
                          {"note", result.note},
                          {"seconds", result.seconds}});
    }
    put(fmt::format("{:<12} {:<10} {:<34} {:<13} {:5.1f} s  {}\n", name(result.wall), probe.kind, probe.name,
                    probe.layer, result.seconds, one_line(result.note)),
        {});
  }

  void show(const CaseResult& result) {
    if (json_) {
      return put("", Json{{"kind", "case"},
                          {"name", result.entry.name},
                          {"failed", !result.passed},
                          {"note", result.note},
                          {"seconds", result.seconds}});
    }
    put(fmt::format("{:<10} {:<6} {:<41} {:5.1f} s  {}\n", result.passed ? "passed" : "FAILED", "case",
                    result.entry.name, result.seconds, result.passed ? one_line(result.note) : result.note),
        {});
  }

 private:
  static std::string one_line(const std::string& text) {
    constexpr size_t kCharacters = 140;
    std::string line = text.substr(0, std::min(text.find('\n'), text.size()));
    return line.size() > kCharacters ? line.substr(0, kCharacters) + "..." : line;
  }
  double share() const { return static_cast<double>(done_) / static_cast<double>(steps_); }
  nanoseconds left() const {
    if (done_ == 0) return {};
    return (now() - start_) / static_cast<int64_t>(done_) * static_cast<int64_t>(steps_ - done_);
  }
  void put(const std::string& text, const Json& line) {
    progress_.clear();
    if (json_)
      print_line(line);
    else
      print(text);
    done_++;
  }

  size_t steps_, done_ = 0;
  bool json_;
  nanoseconds start_;
  Progress progress_;
};

void print_sum(const Tally& tally, const Work& work, bool json) {
  if (json) {
    return print_line({{"kind", "sum"},
                       {"passed", tally.passed},
                       {"failed", tally.failed},
                       {"attacks_accepted", tally.accepted},
                       {"attacks_rejected", tally.rejected},
                       {"attacks_unexpected", tally.unexpected},
                       {"twins_passed", tally.twins_passed},
                       {"twins_rejected", tally.twins_rejected},
                       {"no_verdict", tally.no_verdict},
                       {"probes_tried", tally.probes},
                       {"probes_escaped", tally.escaped},
                       {"probes_not_provable", tally.not_provable}});
  }
  if (!work.probes.empty()) {
    print(fmt::format("probes: {} tried, {} escaped, {} not provable here\n", tally.probes, tally.escaped,
                      tally.not_provable));
  }
  if (!work.corpus.empty()) {
    print(fmt::format("attacks: {} accepted, {} rejected, {} rejected for another reason than they may be\n",
                      tally.accepted, tally.rejected, tally.unexpected));
    print(fmt::format("honest twins: {} passed, {} rejected\n", tally.twins_passed, tally.twins_rejected));
    print(fmt::format("no_verdict: {} of {}{}\n", tally.no_verdict, tally.judged,
                      tally.too_many_without_verdict() ? ", too many" : ""));
  }
  print(fmt::format("{} passed, {} failed", tally.passed, tally.failed));
  print(tally.not_provable ? fmt::format(", {} skipped\n", tally.not_provable) : "\n");
}

void try_probes(const Work& work, Screen& screen, Tally& tally) {
  ProbeRun run;
  for (const Probe& probe : work.probes) {
    stop_if_interrupted();
    screen.begin(probe.name);
    const ProbeResult result = run.try_out(probe);
    screen.show(result);
    tally.add(result);
  }
}

void judge_work(const Work& work, const Environment& environment, Screen& screen, Tally& tally) {
  judge::Judge judge(environment.judge_settings());
  for (int pass = 0; pass < work.passes; pass++) {
    CorpusRun run(judge, environment.home, [&](const judge::Progress& progress) {
      stop_if_interrupted();
      screen.during(progress);
    });
    for (const CorpusEntry& entry : work.corpus) {
      stop_if_interrupted();
      screen.begin(entry.name);
      const CorpusResult result = run.judge(entry);
      screen.show(result);
      tally.add(result);
    }
  }
  for (const Case& entry : work.cases) {
    stop_if_interrupted();
    screen.begin(entry.name);
    screen.during({judge::Stage::kCheck, "", 0, {}});
    const CaseResult result = run_case(entry, judge, environment);
    screen.show(result);
    (result.passed ? tally.passed : tally.failed)++;
  }
}

}  // namespace

int run_test(const TestOptions& options, const Environment& environment) {
  Work work;
  try {
    auto planned = plan(options, environment);
    if (!planned) return refuse(planned.error().text());
    work = std::move(*planned);
  } catch (const std::regex_error& error) {
    return refuse(fmt::format("--filter {}: {}", options.filter, error.what()));
  }
  Screen screen(work.steps(), options.json);
  Tally tally;
  if (!work.probes.empty()) try_probes(work, screen, tally);
  if (work.judges()) judge_work(work, environment, screen, tally);
  if (tally.too_many_without_verdict()) tally.failed += tally.no_verdict;
  print_sum(tally, work, options.json);
  return tally.failed == 0 ? kExitPass : kExitNotPassed;
}

}  // namespace ww::cli
