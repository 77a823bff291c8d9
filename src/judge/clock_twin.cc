// SPDX-License-Identifier: Apache-2.0
#include "judge/clock_twin.h"

#include "base/fault.h"
#include "judge/ballast.h"
#include "judge/runner_process.h"

namespace ww::judge {

struct ClockTwin::State {
  explicit State(const RunnerProcessSetup& setup) : process(setup, {}, {}), limit(setup.limits.call) {}
  RunnerProcess process;
  nanoseconds limit;
  Ballast ballast;
};

ClockTwin::ClockTwin(const RunnerProcessSetup& setup) : state_(std::make_unique<State>(setup)) {}
ClockTwin::~ClockTwin() = default;

TwinSample ClockTwin::sample(nanoseconds spin, uint64_t staged_bytes) {
  State& state = *state_;
  const CallTimes times = state.process.call(
      {.operation = wire::Operation::kSpin, .spin = spin}, [&] { state.ballast.stage(staged_bytes); }, state.limit);
  if (times.end != CallEnd::kDone || times.stray_records > 0 || times.status != wire::kOk) {
    throw Fault(Fault::Kind::kSystem,
                "the clock twin failed: " + state.process.end_after(times, "spinning", state.limit).text);
  }
  return {times.outer, times.inner};
}

const Endpoint& ClockTwin::endpoint() const { return state_->process.endpoint(); }

}  // namespace ww::judge
