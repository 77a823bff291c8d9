// SPDX-License-Identifier: Apache-2.0
#include "judge/clocks.h"

#include <algorithm>
#include <cstring>

#include "device/cpu.h"

namespace ww::judge {
namespace {

constexpr nanoseconds kTwinLimit = seconds(20);

}  // namespace

std::pair<double, double> enclosing_spins(double duration_us) {
  const auto upper = std::find_if(kSpins_us.begin(), kSpins_us.end(), [&](double spin) { return spin >= duration_us; });
  if (upper == kSpins_us.end()) return {kSpins_us.back(), kSpins_us.back()};
  return {upper == kSpins_us.begin() ? *upper : *(upper - 1), *upper};
}

timing::Clocked clocked(const CallTimes& times) {
  return {.inner_us = to_us(times.inner), .outer_us = to_us(times.outer), .disturbed = times.stage_to_go > kLateGo};
}

Clocks::Clocks(const RunnerProcessSetup& setup, RefereeParent& parent)
    : native_(setup), python_(parent.open(setup.threads, true)) {}

timing::Probe Clocks::probe(TwinKind kind, double spin_us, uint64_t staged_bytes) {
  const nanoseconds spin(static_cast<int64_t>(spin_us * 1e3));
  if (kind == TwinKind::kNative) {
    const TwinSample sample = native_.sample(spin, staged_bytes);
    return {.spin_us = spin_us, .extra_us = to_us(sample.outer - sample.inner)};
  }
  const Endpoint& endpoint = python_->endpoint();
  resume(endpoint);
  sequence_++;
  if (auto staged = python_->stage("", RefereeSide::kSpin, sequence_, spin, kTwinLimit); !staged) {
    throw Fault(Fault::Kind::kProtocol, "the Python clock twin failed: " + staged.error().text());
  }
  const CallTimes times = timed_call(
      endpoint, sequence_, [&] { ballast_.stage(staged_bytes); }, kTwinLimit);
  if (times.end != CallEnd::kDone || times.status != 0) {
    throw Fault(Fault::Kind::kProtocol, "the Python clock twin did not finish its spin");
  }
  return {.spin_us = spin_us, .extra_us = to_us(times.outer - times.inner)};
}

}  // namespace ww::judge
