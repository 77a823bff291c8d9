// SPDX-License-Identifier: Apache-2.0
#include "judge/clock_twin.h"

#include "base/fault.h"
#include "judge/runner_process.h"

namespace ww::judge {

struct ClockTwin::State {
  explicit State(const RunnerProcessSetup& setup) : process(setup, {}, {}), limit(setup.limits.call) {}
  RunnerProcess process;
  nanoseconds limit;
};

ClockTwin::ClockTwin(const RunnerProcessSetup& setup) : state_(std::make_unique<State>(setup)) {}
ClockTwin::~ClockTwin() = default;

TwinSample ClockTwin::sample(nanoseconds spin) {
  const CallTimes times =
      state_->process.call({.operation = wire::Operation::kSpin, .spin = spin}, nullptr, state_->limit);
  if (times.end != CallEnd::kDone || times.stray_records > 0 || times.status != wire::kOk) {
    throw Fault(Fault::Kind::kSystem,
                "the clock twin failed: " + state_->process.end_after(times, "spinning", state_->limit).text);
  }
  return {times.outer, times.inner};
}

const Endpoint& ClockTwin::endpoint() const { return state_->process.endpoint(); }

}  // namespace ww::judge
