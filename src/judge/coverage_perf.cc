// SPDX-License-Identifier: Apache-2.0
//
// Do the intervals mean what they say? Judges the same thing against itself many times, under the judge's own protocol:
// one artifact in two runners, and eager on both sides. Prints how many 95 % intervals hold 1.00 and how wide they are.
//
//   ww_coverage_perf PROGRAM_FOLDER PYTHON PACKAGE_FOLDER INCLUDE_FOLDER TASK SOLUTION [REPEATS] [CAP_MS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "base/hash.h"
#include "build/builder.h"
#include "device/cpu.h"
#include "judge/clocks.h"
#include "judge/reference.h"
#include "timing/quantile.h"

namespace ww::judge {
namespace {

constexpr int kRoundsPerBlock = 6;

struct Arguments {
  RunnerProcessSetup setup;
  RefereeSettings referee;
  fs::path include_folder;
  task::Task task;
  fs::path solution;
  int repeats = 100;
  milliseconds cap{2000};
};

/// Two runners of one artifact, staged from the reference's arena.
class Twins {
 public:
  Twins(const Arguments& arguments, const build::Artifact& artifact, Reference& reference) : reference_(reference) {
    for (auto& runner : runners_) {
      auto started = Runner::start({.process = arguments.setup,
                                    .loadable = {artifact.path, artifact.needs},
                                    .workloads = {reference.buffers(0)}});
      WW_CHECK(std::holds_alternative<std::unique_ptr<Runner>>(started), "the solution does not load");
      runner = std::move(std::get<std::unique_ptr<Runner>>(started));
      stop(runner->endpoint());
    }
  }

  void prepare() {
    placement_ = static_cast<int>(random_word() % static_cast<uint64_t>(runners_[0]->lent(0).placements()));
    for (auto& runner : runners_) {
      stop(runner->endpoint());
      for (size_t j = 0; j < reference_.buffers(0).weights.size(); j++) {
        std::ranges::copy(reference_.weight(0, j), runner->lent(0).weight(j).begin());
      }
      WW_CHECK(std::holds_alternative<Runner::Prepared>(runner->prepare(0, 0)), "the solution does not prepare");
    }
  }

  timing::Clocked call(size_t side) {
    Runner& runner = *runners_[side];
    const CallReport report = runner.forward({0, 0, placement_}, [&] {
      for (size_t i = 0; i < reference_.buffers(0).inputs.size(); i++) {
        std::ranges::copy(reference_.input(0, i), runner.lent(0).input(i, placement_).begin());
      }
    });
    WW_CHECK(!report.failure, "the solution fails");
    return clocked(report.times);
  }

 private:
  Reference& reference_;
  std::array<std::unique_ptr<Runner>, 2> runners_;
  int placement_ = 0;
};

struct Outcome {
  bool holds = false;
  double sampling = 0;  ///< relative half-width
  double width = 0;     ///< high / low - 1
};

/// `side_kinds`: both of the same kind. `call(0 or 1)` makes one timed call on what `prepare_round` drew.
Outcome judge_once(Clocks& clocks, uint64_t staged_bytes, Side second, const Arguments& arguments,
                   const std::function<void()>& new_block, const std::function<void()>& new_round,
                   const std::function<timing::Clocked(size_t)>& call) {
  // Both sides carry the kind of the second, so that both get the same twin's base.
  const TwinKind kind = twin_of(second);
  timing::BaseEstimator estimator;
  std::vector<std::array<timing::Clocked, 2>> calls;
  timing::StoppingRule rule(cpu_method());
  const auto probe = [&](double duration_us) {
    const auto [lower, upper] = enclosing_spins(duration_us);
    estimator.add(clocks.probe(kind, random_word() % 2 ? lower : upper, staged_bytes));
  };
  new_block();
  new_round();
  double duration_us = call(0).inner_us;
  call(1);
  for (size_t i = 0; i < 4 * timing::BaseEstimator::kFewestProbes; i++) probe(duration_us);
  const nanoseconds start = now();
  timing::Rounds rounds(2);
  do {
    new_block();
    for (const size_t side : {0, 1}) call(side);
    const auto probed = static_cast<int>(random_word() % kRoundsPerBlock);
    for (int round = 0; round < kRoundsPerBlock; round++) {
      new_round();
      const size_t first = random_word() % 2;
      std::array<timing::Clocked, 2> pair;
      pair[first] = call(first);
      pair[1 - first] = call(1 - first);
      duration_us = pair[0].inner_us;
      calls.push_back(pair);
      if (round == probed) probe(duration_us);
    }
    rounds = timing::Rounds(2);
    for (const auto& pair : calls) {
      const std::array<timing::Sample, 2> samples = {timing::bound_sample(pair[0], estimator),
                                                     timing::bound_sample(pair[1], estimator)};
      rounds.add(samples);
    }
  } while (rule.ask(rounds, start + arguments.cap - now()) == timing::StoppingRule::Answer::kContinue);
  const auto ratio = estimate_ratio(rounds, 0, 1, cpu_method());
  return {ratio.low <= 1 && 1 <= ratio.high, ratio.sampling, ratio.high / ratio.low - 1};
}

void print(const char* what, const std::vector<Outcome>& outcomes) {
  std::vector<double> sampling, width;
  double holds = 0;
  for (const Outcome& each : outcomes) {
    sampling.push_back(each.sampling);
    width.push_back(each.width);
    holds += each.holds;
  }
  const double count = static_cast<double>(outcomes.size());
  fmt::print(
      "{:8} {:4} judgings: {:5.1f} % of the 95 % intervals hold 1.00 (goal 90 %); sampling half-width median {:.2f} %, "
      "p90 {:.2f} %; whole interval median {:.2f} %, p90 {:.2f} %\n",
      what, outcomes.size(), 100 * holds / count, 100 * timing::quantile(sampling, 0.5),
      100 * timing::quantile(sampling, 0.9), 100 * timing::quantile(width, 0.5), 100 * timing::quantile(width, 0.9));
  std::fflush(stdout);
}

void run(const Arguments& arguments) {
  TemporaryFolder cache("ww-coverage");
  const build::Builder builder({.cache_folder = cache.path(), .include_folder = arguments.include_folder});
  const build::BuildResult built = builder.build(arguments.solution, arguments.task.contract);
  WW_CHECK(built.artifact(), "the solution does not build");
  RefereeParent parent(arguments.referee);
  auto opened = Reference::open(parent, arguments.task, arguments.setup.threads, false, seconds(60));
  WW_CHECK(opened.ok(), "the task does not open");
  Reference& reference = **opened;
  Clocks clocks(arguments.setup, parent);
  Twins twins(arguments, *built.artifact(), reference);
  const auto new_round = [&] { reference.draw(0, {random_word(), std::nullopt, "source"}); };
  const auto new_block = [&] {
    reference.draw(0, {random_word(), random_word(), "source"});
    reference.stop();
    twins.prepare();
  };
  std::vector<Outcome> artifact, eager;
  for (int repeat = 0; repeat < arguments.repeats; repeat++) {
    artifact.push_back(judge_once(clocks, reference.staged_bytes(0), Side::kSolution, arguments, new_block, new_round,
                                  [&](size_t side) {
                                    reference.stop();
                                    return twins.call(side);
                                  }));
    eager.push_back(judge_once(clocks, reference.staged_bytes(0), Side::kEager, arguments, new_block, new_round,
                               [&](size_t) { return reference.timed(0, Side::kEager); }));
    std::fprintf(stderr, "%d of %d\n", repeat + 1, arguments.repeats);
  }
  print("artifact", artifact);
  print("eager", eager);
}

}  // namespace
}  // namespace ww::judge

int main(int argc, char** argv) {
  using namespace ww;
  if (argc < 7) {
    std::fprintf(stderr,
                 "usage: ww_coverage_perf PROGRAM_FOLDER PYTHON PACKAGE_FOLDER INCLUDE_FOLDER TASK SOLUTION [REPEATS] "
                 "[CAP_MS]\n");
    return 2;
  }
  auto task = task::load_task(argv[5], ".");
  if (!task) {
    std::fprintf(stderr, "%s\n", task.error().text().c_str());
    return 2;
  }
  task->workloads.resize(1);
  judge::Arguments arguments{.setup = {.program = fs::path(argv[1]) / "ww-runner",
                                       .threads = device::cpu_facts().cores,
                                       .environment = {},
                                       .cpus = {},
                                       .limits = {}},
                             .referee = {.python = argv[2], .package_folder = argv[3]},
                             .include_folder = argv[4],
                             .task = *task,
                             .solution = argv[6],
                             .repeats = argc > 7 ? std::atoi(argv[7]) : 100,
                             .cap = milliseconds(argc > 8 ? std::atoi(argv[8]) : 2000)};
  judge::run(arguments);
  return 0;
}
