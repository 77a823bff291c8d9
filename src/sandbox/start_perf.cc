// SPDX-License-Identifier: Apache-2.0
//
// What a sandboxed start costs: start to end of /bin/true, against bare posix_spawn, interleaved.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/fault.h"
#include "sandbox/sandbox.h"

namespace {

using namespace ww;

nanoseconds bare() {
  const nanoseconds begin = now();
  char program[] = "/bin/true";
  char* argv[] = {program, nullptr};
  char* environment[] = {nullptr};
  pid_t child;
  if (const int error = ::posix_spawn(&child, program, nullptr, nullptr, argv, environment)) {
    throw_errno("posix_spawn", error);
  }
  ::waitpid(child, nullptr, 0);
  return now() - begin;
}

struct Costs {
  nanoseconds start, whole;
};

Costs sandboxed(const sandbox::Spec& spec) {
  const nanoseconds begin = now();
  sandbox::Process process = sandbox::start(spec);
  const nanoseconds started = now();
  if (!process.wait().ok()) throw Fault(Fault::Kind::kSystem, "/bin/true failed in the sandbox");
  return {started - begin, now() - begin};
}

double median_ms(std::vector<nanoseconds> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return to_us(times[times.size() / 2]) / 1e3;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  sandbox::Spec spec;
  spec.argv = {"/bin/true"};
  sandbox::add_system(spec);
  const nanoseconds before_probe = now();
  const auto summary = sandbox::probe().summary();
  std::printf("isolation %.*s, found in %.1f ms\n", static_cast<int>(summary.size()), summary.data(),
              to_us(now() - before_probe) / 1e3);
  std::vector<nanoseconds> bare_times, start_times, whole_times;
  for (int i = 0; i < rounds; ++i) {
    bare_times.push_back(bare());
    const Costs costs = sandboxed(spec);
    start_times.push_back(costs.start);
    whole_times.push_back(costs.whole);
  }
  const double bare_ms = median_ms(bare_times), whole_ms = median_ms(whole_times);
  std::printf("posix_spawn to end  %.2f ms\nsandbox start       %.2f ms\nsandbox to end      %.2f ms  %.1fx\n", bare_ms,
              median_ms(start_times), whole_ms, whole_ms / bare_ms);
}
