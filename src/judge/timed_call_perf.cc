// SPDX-License-Identifier: Apache-2.0
//
// What the outside clock adds to a call of known length: outer minus inner of the clock twin (stop, stage, continue as
// go, done, stop) beside its peer from the same run, an eventfd ping-pong with a process that is never stopped.
// Run: ww_timed_call_perf [CALLS]. ww-runner lies in the same folder.
#include <omp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "device/shared_memory.h"
#include "judge/clock_twin.h"

namespace {

using namespace ww;

constexpr int kWarmUps = 10;

struct Quantiles {
  double p10, p50, p90;
};

Quantiles quantiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double q) { return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))]; };
  return {at(0.1), at(0.5), at(0.9)};
}

/// A forked process that spins as told, reached over two eventfds.
class PingPong {
 public:
  explicit PingPong(int threads) : go_(make_eventfd()), done_(make_eventfd()), memory_("ping-pong", 4096) {
    pid_ = ::fork();
    if (pid_ < 0) throw_errno("forking the peer");
    if (pid_ == 0) serve(threads);
  }
  ~PingPong() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  judge::TwinSample sample(nanoseconds spin) {
    words()[0] = spin.count();
    uint64_t token = 1;
    const nanoseconds start = now();
    if (::write(go_.get(), &token, sizeof token) < 0 || ::read(done_.get(), &token, sizeof token) < 0) {
      throw_errno("reaching the peer");
    }
    return {now() - start, nanoseconds(words()[1])};
  }

 private:
  int64_t* words() { return reinterpret_cast<int64_t*>(memory_.data()); }

  [[noreturn]] void serve(int threads) {
    uint64_t token;
    while (::read(go_.get(), &token, sizeof token) == sizeof token) {
      const nanoseconds start = now();
      const nanoseconds end = start + nanoseconds(words()[0]);
#pragma omp parallel num_threads(threads)
      while (now() < end) {
      }
      words()[1] = (now() - start).count();
      if (::write(done_.get(), &token, sizeof token) < 0) break;
    }
    ::_exit(EXIT_FAILURE);
  }

  Fd go_, done_;
  device::SharedMemory memory_;
  pid_t pid_ = 0;
};

template <class Side>
Quantiles base_of(Side& side, nanoseconds spin, int calls) {
  std::vector<double> base;
  for (int call = 0; call < kWarmUps + calls; call++) {
    const auto sample = side.sample(spin);
    if (call >= kWarmUps) base.push_back(to_us(sample.outer - sample.inner));
  }
  return quantiles(base);
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 200;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::printf("outer minus inner, us                stop and continue          eventfd alone\n");
  std::printf("threads      spin                    p10     p50     p90       p10     p50     p90\n");
  for (const int threads : {1, 2}) {
    judge::RunnerProcessSetup setup;
    setup.program = folder / "ww-runner";
    setup.threads = threads;
    judge::ClockTwin twin(setup);
    PingPong peer(threads);
    for (const int spin_us : {0, 100, 1000, 10'000}) {
      const nanoseconds spin{spin_us * 1000};
      const int count = spin_us >= 10'000 ? std::max(1, calls / 4) : calls;
      const Quantiles ours = base_of(twin, spin, count);
      const Quantiles plain = base_of(peer, spin, count);
      std::printf("%7d  %6.1f ms               %7.1f %7.1f %7.1f   %7.1f %7.1f %7.1f\n", threads, spin_us / 1e3,
                  ours.p10, ours.p50, ours.p90, plain.p10, plain.p50, plain.p90);
    }
  }
}
