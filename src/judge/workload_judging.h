// SPDX-License-Identifier: Apache-2.0
//
// The judging of one workload: calibrate the tolerance, choose the config, check against fp64, then interleave timed
// rounds with honey rounds until the interval is narrow enough. Every call of the solution, timed or not, is staged the
// same way on data it has never seen, and its outputs are compared. Single-threaded.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "judge/clocks.h"
#include "judge/judge.h"
#include "judge/reference.h"
#include "judge/runner_client.h"
#include "judge/tolerance.h"

namespace ww::judge {

/// Why a judging ended without a pass.
struct Found {
  verdict::Outcome outcome = verdict::Outcome::kWrong;
  std::string reason;
  std::vector<verdict::Evidence> evidence;
};

/// A runner's failure as an outcome, with evidence.
Found found_from(const RunnerFailure& failure, const std::string& when);

struct Parties {
  Reference& reference;
  Runner& runner;
  Clocks* clocks = nullptr;  ///< null: correctness alone
};

class WorkloadJudging {
 public:
  WorkloadJudging(Parties parties, size_t workload, const task::Contract& contract, const Options& options,
                  std::vector<Side> sides, std::function<void(double)> on_progress);

  /// Nothing: it passed. `due` is when it should be over, but sampling gets at least half of the cap. Throws Fault.
  std::optional<Found> run(nanoseconds due);

  const verdict::Trials& trials() const { return trials_; }
  const std::vector<verdict::Evidence>& evidence() const { return evidence_; }
  std::optional<int32_t> config() const { return config_; }
  std::optional<double> prepare_us() const { return prepare_us_; }
  const std::optional<Measurement>& measurement() const { return measurement_; }

 private:
  using Step = std::optional<Found>;

  /// What the solution's outputs are held against.
  enum class Yardstick { kEager, kTruth };
  /// Whether a call draws its inputs or takes those that new weights were drawn with.
  enum class Inputs { kFresh, kAsDrawn };

  void limit_calls();
  Step choose_config();
  Step try_config(int32_t config, double& best_us);
  Step check_against_truth();
  Step sample(std::vector<std::string>& honey, nanoseconds due);
  Step block(std::vector<std::string>& honey_left, size_t honeys);
  Step timed_round();
  Step honey_round(const std::string& kind);
  Step drain_honey(std::vector<std::string>& honey_left);

  Step new_weights();
  Step checked_call(Inputs inputs, Yardstick yardstick);
  Step call(CallReport& report);
  Step judge_call(const CallReport& report);
  Step compare_outputs(Yardstick yardstick, const std::string& pattern);
  std::vector<std::string> honey_kinds() const;
  void probe(TwinKind kind, double duration_us);
  Found wrong(size_t output, const Comparison& comparison, const std::string& pattern);
  Draw fresh(const std::string& pattern = "source");
  void draw(const Draw& draw);
  int random_round();

  Parties parties_;
  size_t workload_;
  const WorkloadBuffers& buffers_;
  const task::Contract& contract_;
  const Options& options_;
  std::function<void(double)> on_progress_;
  const Tolerance& tolerance_;
  std::optional<Tolerance> honey_tolerance_;  ///< of the present draw, in honey rounds
  std::optional<Measurement> measurement_;
  std::mt19937_64 random_;
  std::optional<int32_t> config_;
  int placement_ = 0;
  Draw drawn_;  ///< seeds of what the reference's arena holds
  CallReport last_;
  bool unsupported_ = false;               ///< ww_prepare refused the present config
  double solution_us_ = 0, eager_us_ = 0;  ///< latest durations, for choosing spins
  verdict::Trials trials_;
  std::optional<double> prepare_us_;
  std::vector<verdict::Evidence> evidence_;
};

}  // namespace ww::judge
