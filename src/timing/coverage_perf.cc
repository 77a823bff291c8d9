// SPDX-License-Identifier: Apache-2.0
//
// Do 95 % intervals hold the truth? Prints coverage, half-width and rounds for each noise model and statistic, and what
// an estimate costs. Deterministic but for the costs. Usage: ww_timing_coverage_perf [TRIALS]
#include <fmt/format.h>

#include <cstdlib>

#include "base/clock.h"
#include "timing/rounds.h"
#include "timing/simulated_machine.h"

namespace {

using namespace ww::timing;

constexpr size_t kCapRounds = 400;
constexpr double kSolutionUs = 2000;

void print_coverage(double from, double to, size_t trials) {
  Method method = Method::cpu();
  method.from = from, method.to = to;
  for (const Noise& noise : noise_models()) {
    const Coverage same = measure_coverage(noise, method, kSolutionUs, 1.0, kCapRounds, trials, 1);
    const Coverage faster = measure_coverage(noise, method, kSolutionUs, 1.8, kCapRounds, trials, 100'000);
    fmt::print("{:12} {:14} {:10.1f} {:10.1f} {:10.1f} {:10.1f} {:12.2f} {:8.0f} {:8.2f}\n", method.statistic(),
               noise.name, 100 * same.held, 100 * faster.held, 100 * same.sampling_held, 100 * faster.sampling_held,
               100 * same.median_sampling, same.median_rounds, 100 * same.bias);
  }
}

void print_cost() {
  SimulatedMachine machine(noise_models().back(), 1, 3);
  BaseEstimator estimator;
  Rounds rounds(3);
  while (rounds.size() < kCapRounds) rounds.add(machine.round({1000, 1500, 1200}, estimator));
  const auto start = ww::now();
  constexpr int kRepeats = 50;
  double sink = 0;
  for (int i = 0; i < kRepeats; i++) sink += estimate_ratio(rounds, 0, 1, Method::cpu()).low;
  fmt::print("one ratio of {} rounds, {} draws: {:.2f} ms (checksum {:.3f})\n", rounds.size(), Method::cpu().draws,
             ww::to_us(ww::now() - start) / 1e3 / kRepeats, sink);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t trials = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 400;
  fmt::print("{:12} {:14} {:>10} {:>10} {:>10} {:>10} {:>12} {:>8} {:>8}   ({} trials each)\n", "", "", "held 1.0x",
             "held 1.8x", "alone 1.0x", "alone 1.8x", "half-width %", "rounds", "bias %", trials);
  print_coverage(Method::cpu().from, Method::cpu().to, trials);
  for (const double quantile : {0.10, 0.25, 0.50}) print_coverage(quantile, quantile, trials);
  print_cost();
}
