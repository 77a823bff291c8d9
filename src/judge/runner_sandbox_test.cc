// SPDX-License-Identifier: Apache-2.0
//
// Real runners in the sandbox with small solutions, honest and hostile, that are compiled here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/child.h"
#include "base/files.h"
#include "judge/clock_twin.h"
#include "judge/runner_client.h"
#include "sandbox/isolation.h"

namespace ww::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = RunnerFailure::Kind;

constexpr size_t kElements = 100;  // 400 bytes: 112 of slack before the guard page

// One solution; its config chooses what it does beside adding.
constexpr char kManySided[] = R"(
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <stdexcept>
#include "warpwright/solution.h"
enum { kHonest, kClosesAll, kWritesInput, kWritesSlack, kWritesFar, kForges, kSleeps, kLoops, kForks, kWritesLate,
       kUnsupported, kFails, kAbsurd, kFloodsDone, kExits, kStopsItself, kEatsMemory, kPrints, kFloodsGo, kWritesBefore,
       kOverrunsWorkspace, kUnprotects, kThrows, kSpinsOn, kKeepsPacked, kCount };
static const float *a, *b;
static float* out;
static long n;
static void add() {
#pragma omp parallel for
  for (long i = 0; i < n; i++) out[i] = a[i] + b[i];
}
static void* late(void*) { usleep(20000); add(); return 0; }
static void* spin(void*) { for (volatile long i = 0;; i++) {} }
static void in_thread(void* (*work)(void*)) { pthread_t t; pthread_create(&t, 0, work, 0); }
struct Record { uint64_t sequence; int64_t inner; int32_t status, zero; };
WW_EXPORT int32_t ww_config_count(void) { return kCount; }
WW_EXPORT uint64_t ww_workspace_bytes(const ww_call* c) {
  if (c->inputs.items[0]->data) return 1;
  return c->config == kAbsurd ? 1ull << 60 : 1000;
}
WW_EXPORT uint64_t ww_packed_bytes(const ww_call*) { return 4; }
WW_EXPORT int ww_prepare(const ww_call* c) {
  *(float*)c->packed = *(float*)c->weights.items[0]->data * 2;
  return 0;
}
WW_EXPORT int ww_forward(const ww_call* c) {
  a = (const float*)c->inputs.items[0]->data;
  b = (const float*)c->inputs.items[1]->data;
  out = (float*)c->outputs.items[0]->data;
  n = c->inputs.items[0]->shape[0];
  float* counter = (float*)c->outputs.items[1]->data;
  if (c->weights.items[1]->data != counter) return 9;
  *counter += 1;
  Record forged = {0, 1, 0, 0};
  switch (c->config) {
    case kClosesAll: for (int i = 0; i < 64; i++) close(i); break;
    case kWritesInput: *(float*)a = 1; break;
    case kWritesSlack: ((char*)out)[n * 4 + 3] ^= 1; break;
    case kWritesFar: out[n + 256] = 1; break;
    case kForges: for (int i = 0; i < 64; i++) for (forged.sequence = 0; forged.sequence < 20; forged.sequence++)
                    if (write(i, &forged, sizeof forged) < 0) break;
                  break;
    case kSleeps: usleep(30000); break;
    case kLoops: for (volatile int i = 0;; i++) {}
    case kForks: fork(); break;
    case kWritesLate: in_thread(late); return 0;
    case kUnsupported: return WW_UNSUPPORTED;
    case kFails: return 7;
    case kFloodsDone: for (;;) if (write(4, &forged, sizeof forged) < 0) break;
    case kExits: _exit(0);
    case kStopsItself: kill(getpid(), SIGSTOP); raise(SIGSTOP); break;
    case kEatsMemory: for (;;) { char* p = (char*)malloc(1 << 24); if (!p) abort(); memset(p, 1, 1 << 24); }
    case kPrints: for (int i = 0; i < 100000; i++) { puts("speedup 100"); fputs("a flood\n", stderr); } break;
    case kFloodsGo: { uint64_t most = 0xfffffffffffffffeull; if (write(3, &most, 8) < 0) return 9; break; }
    case kWritesBefore: out[-1] = 1; break;
    case kOverrunsWorkspace: memset(c->workspace, 1, 1001); break;
    case kUnprotects: if (mprotect((void*)((uintptr_t)a & ~4095ul), 4096, PROT_READ | PROT_WRITE) == 0) return 9; break;
    case kThrows: throw std::runtime_error("deliberate");
    case kSpinsOn: in_thread(spin); break;
    case kKeepsPacked: add(); out[0] = *(float*)c->packed; return 0;
  }
  add();
  return 0;
}
)";

enum Side {
  kHonest,
  kClosesAll,
  kWritesInput,
  kWritesSlack,
  kWritesFar,
  kForges,
  kSleeps,
  kLoops,
  kForks,
  kWritesLate,
  kUnsupported,
  kFails,
  kAbsurd,
  kFloodsDone,
  kExits,
  kStopsItself,
  kEatsMemory,
  kPrints,
  kFloodsGo,
  kWritesBefore,
  kOverrunsWorkspace,
  kUnprotects,
  kThrows,
  kSpinsOn,
  kKeepsPacked,
};

fs::path compile(const TemporaryFolder& folder, const std::string& name, const std::string& source) {
  const fs::path cpp = folder.path() / (name + ".cpp"), library = folder.path() / (name + ".so");
  write_file(cpp, source);
  const ChildResult result = run_child(
      {"g++", "-O1", "-fopenmp", "-shared", "-fPIC", "-I" WW_TEST_INCLUDE, cpp.string(), "-o", library.string()},
      seconds(60));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return library;
}

WorkloadBuffers add_workload() {
  WorkloadBuffers buffers;
  buffers.name = "default";
  const std::vector<int64_t> shape = {static_cast<int64_t>(kElements)};
  buffers.inputs = {{.name = "a", .shape = shape}, {.name = "b", .shape = shape}};
  buffers.weights = {{.name = "scale", .shape = {1}}, {.name = "counter", .shape = {1}}};
  buffers.outputs = {{.name = "out", .shape = shape}, {.name = "counter", .shape = {1}}};
  buffers.mutated = 1;
  return buffers;
}

float float_at(std::span<const std::byte> bytes, size_t index) {
  float value;
  std::memcpy(&value, bytes.data() + 4 * index, sizeof value);
  return value;
}

void set_float(std::span<std::byte> bytes, size_t index, float value) {
  std::memcpy(bytes.data() + 4 * index, &value, sizeof value);
}

class RunnerSandbox : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder("ww-runner-test");
    fs::permissions(folder_->path(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
    many_sided_ = new fs::path(compile(*folder_, "many_sided", kManySided));
  }
  static void TearDownTestSuite() {
    delete many_sided_;
    delete folder_;
  }

  void SetUp() override {
    const auto& isolation = sandbox::probe();
    const bool able = isolation.has("pid_ns") && isolation.has("mount_ns") && isolation.has("seccomp");
    if (able) return;
    if (std::getenv("WW_REQUIRE_SANDBOX") != nullptr) FAIL() << "no sandbox here: " << isolation.text();
    GTEST_SKIP() << "no sandbox here: " << isolation.text();
  }

  static RunnerSetup setup(const fs::path& artifact) {
    RunnerSetup setup;
    setup.process.program = WW_TEST_RUNNER;
    setup.process.threads = 2;
    setup.process.limits.call = milliseconds(400);
    setup.process.limits.memory_bytes = 128u << 20;
    setup.process.limits.scratch_bytes = 1u << 20;
    setup.loadable.artifact = artifact;
    setup.workloads = {add_workload()};
    return setup;
  }

  /// Loads the many-sided solution and prepares `side`.
  std::unique_ptr<Runner> start(Side side) {
    auto started = Runner::start(setup(*many_sided_));
    if (const auto* failure = std::get_if<RunnerFailure>(&started)) {
      ADD_FAILURE() << failure->text;
      return nullptr;
    }
    auto runner = std::move(std::get<std::unique_ptr<Runner>>(started));
    set_float(runner->lent(0).weight(0), 0, 21);
    const auto prepared = runner->prepare(0, side);
    if (const auto* failure = std::get_if<RunnerFailure>(&prepared)) {
      ADD_FAILURE() << failure->text;
      return nullptr;
    }
    return runner;
  }

  static CallReport forward(Runner& runner, Side side, float base = 1, int placement = 0) {
    LentWorkload& lent = runner.lent(0);
    return runner.forward({0, side, placement}, [&] {
      for (size_t i = 0; i < kElements; i++) {
        set_float(lent.input(0, placement), i, base + static_cast<float>(i));
        set_float(lent.input(1, placement), i, 1000);
      }
      set_float(lent.output(1, placement), 0, 5);
    });
  }

  static bool adds(Runner& runner, float base = 1, int placement = 0) {
    for (size_t i = 0; i < kElements; i++) {
      if (float_at(runner.lent(0).output(0, placement), i) != base + static_cast<float>(i) + 1000) return false;
    }
    return true;
  }

  /// The failure that one call of `side` ends with.
  RunnerFailure failure_of(Side side) {
    auto runner = start(side);
    if (!runner) return {};
    const CallReport report = forward(*runner, side);
    EXPECT_TRUE(report.failure.has_value());
    EXPECT_FALSE(runner->alive());
    // A dead runner answers every later call the same, at once.
    EXPECT_EQ(forward(*runner, side).failure.value_or(RunnerFailure{}).text,
              report.failure.value_or(RunnerFailure{}).text);
    return report.failure.value_or(RunnerFailure{});
  }

  static RunnerFailure load_failure(const std::string& name, const std::string& source) {
    RunnerSetup how = setup(compile(*folder_, name, source));
    how.process.limits.load = milliseconds(1500);
    auto started = Runner::start(how);
    const auto* failure = std::get_if<RunnerFailure>(&started);
    EXPECT_NE(failure, nullptr);
    return failure ? *failure : RunnerFailure{};
  }

  static TemporaryFolder* folder_;
  static fs::path* many_sided_;
};

TemporaryFolder* RunnerSandbox::folder_ = nullptr;
fs::path* RunnerSandbox::many_sided_ = nullptr;

TEST_F(RunnerSandbox, AnHonestSolutionComputesAtBothPlacementsAndMutatesInPlace) {
  auto runner = start(kHonest);
  ASSERT_TRUE(runner);
  for (int call = 0; call < 6; call++) {
    const CallReport report = forward(*runner, kHonest, static_cast<float>(call), call % 2);
    ASSERT_FALSE(report.failure) << report.failure->text;
    EXPECT_TRUE(adds(*runner, static_cast<float>(call), call % 2));
    EXPECT_EQ(float_at(runner->lent(0).output(1, call % 2), 0), 6);
    EXPECT_THAT(report.overwritten, IsEmpty());
    EXPECT_EQ(report.times.stray_records, 0u);
    EXPECT_EQ(report.times.cpu_while_stopped.count(), 0);
    EXPECT_LE(report.times.inner, report.times.outer);
    EXPECT_GT(report.times.inner.count(), 0);
    EXPECT_EQ(report.threads, 2);
  }
}

TEST_F(RunnerSandbox, PrepareSeesTheWeightsAndItsResultReachesForward) {
  auto runner = start(kKeepsPacked);
  ASSERT_TRUE(runner);
  ASSERT_FALSE(forward(*runner, kKeepsPacked).failure);
  EXPECT_EQ(float_at(runner->lent(0).output(0, 0), 0), 42);
}

TEST_F(RunnerSandbox, EveryTaskOfALoadedRunnerIsUnderTheFilter) {
  auto runner = start(kHonest);
  ASSERT_TRUE(runner);
  ASSERT_FALSE(forward(*runner, kHonest).failure);
  int tasks = 0;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(runner->pid()) + "/task")) {
    const std::string status = *read_file(task.path() / "status");
    EXPECT_THAT(status, HasSubstr("Seccomp:\t2"));
    EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
    tasks++;
  }
  EXPECT_EQ(tasks, 2);
}

TEST_F(RunnerSandbox, ExitInAConstructorIsACrashWhateverTheCode) {
  const RunnerFailure failure = load_failure("exits", R"(
#include <unistd.h>
#include "warpwright/solution.h"
__attribute__((constructor)) static void early() { _exit(0); }
WW_EXPORT int ww_forward(const ww_call*) { return 0; })");
  EXPECT_EQ(failure.kind, Kind::kCrash);
  EXPECT_THAT(failure.text, HasSubstr("exited with code 0 while loading"));
}

TEST_F(RunnerSandbox, AConstructorThatNeverReturnsIsATimeout) {
  EXPECT_EQ(load_failure("hangs", R"(
#include "warpwright/solution.h"
__attribute__((constructor)) static void early() { for (volatile int i = 0;; i++) {} }
WW_EXPORT int ww_forward(const ww_call*) { return 0; })")
                .kind,
            Kind::kTimeout);
}

TEST_F(RunnerSandbox, WhatIsNotASolutionIsRefusedByName) {
  EXPECT_EQ(load_failure("no_forward", "#include \"warpwright/solution.h\"\n").kind, Kind::kNoForward);
  const RunnerFailure abi = load_failure("old", R"(
#include <stdint.h>
extern "C" __attribute__((visibility("default"))) const int32_t ww_solution_abi = 77;
extern "C" int ww_forward(const void*) { return 0; })");
  EXPECT_EQ(abi.kind, Kind::kWrongAbi);
  EXPECT_THAT(abi.text, HasSubstr("version 77"));
  EXPECT_EQ(load_failure("bare", "extern \"C\" int ww_forward(const void*) { return 0; }").kind, Kind::kWrongAbi);
  const RunnerFailure missing = load_failure("missing", R"(
#include "warpwright/solution.h"
extern "C" void nowhere_to_be_found(void);
WW_EXPORT int ww_forward(const ww_call*) { nowhere_to_be_found(); return 0; })");
  EXPECT_EQ(missing.kind, Kind::kNotLoadable);
  EXPECT_THAT(missing.text, HasSubstr("nowhere_to_be_found"));
  EXPECT_EQ(load_failure("configs", R"(
#include "warpwright/solution.h"
WW_EXPORT int32_t ww_config_count(void) { return 1000000; }
WW_EXPORT int ww_forward(const ww_call*) { return 0; })")
                .kind,
            Kind::kAbsurd);
}

TEST_F(RunnerSandbox, AbsurdSizesAreRefusedWithTheLimit) {
  auto runner = start(kHonest);
  ASSERT_TRUE(runner);
  const auto prepared = runner->prepare(0, kAbsurd);
  const auto* failure = std::get_if<RunnerFailure>(&prepared);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->kind, Kind::kAbsurd);
  EXPECT_THAT(failure->text, HasSubstr("at most 1048576"));
  EXPECT_TRUE(runner->alive());
}

TEST_F(RunnerSandbox, ClosingAllDescriptorsDoesNotHang) {
  const RunnerFailure failure = failure_of(kClosesAll);
  EXPECT_TRUE(failure.kind == Kind::kProtocol || failure.kind == Kind::kCrash) << failure.text;
}

TEST_F(RunnerSandbox, WritingAnInputIsACrash) {
  const RunnerFailure failure = failure_of(kWritesInput);
  EXPECT_EQ(failure.kind, Kind::kCrash);
  EXPECT_THAT(failure.text, HasSubstr("SIGSEGV"));
}

TEST_F(RunnerSandbox, InputsCannotBeMadeWritable) {
  auto runner = start(kUnprotects);
  ASSERT_TRUE(runner);
  EXPECT_FALSE(forward(*runner, kUnprotects).failure);
}

TEST_F(RunnerSandbox, WritesBesideABufferAreSeen) {
  auto runner = start(kWritesSlack);
  ASSERT_TRUE(runner);
  EXPECT_THAT(forward(*runner, kWritesSlack).overwritten, ElementsAre("output out: 1 bytes written after its end"));
  ASSERT_TRUE(std::holds_alternative<Runner::Prepared>(runner->prepare(0, kWritesBefore)));
  EXPECT_THAT(forward(*runner, kWritesBefore).overwritten,
              ElementsAre(HasSubstr("output out: 4 bytes written before its start")));
  ASSERT_TRUE(std::holds_alternative<Runner::Prepared>(runner->prepare(0, kOverrunsWorkspace)));
  EXPECT_THAT(forward(*runner, kOverrunsWorkspace).overwritten,
              ElementsAre("workspace: 1 bytes written after its end"));
  EXPECT_EQ(failure_of(kWritesFar).kind, Kind::kCrash);
}

TEST_F(RunnerSandbox, ForgedDoneRecordsAreAProtocolFailure) {
  EXPECT_EQ(failure_of(kForges).kind, Kind::kProtocol);
  EXPECT_EQ(failure_of(kFloodsDone).kind, Kind::kProtocol);
}

TEST_F(RunnerSandbox, TheInnerClockCoversASleepAndTheOuterClockCoversTheInner) {
  auto runner = start(kSleeps);
  ASSERT_TRUE(runner);
  const CallReport report = forward(*runner, kSleeps);
  ASSERT_FALSE(report.failure);
  EXPECT_GE(report.times.inner, milliseconds(30));
  EXPECT_GE(report.times.outer, report.times.inner);
}

TEST_F(RunnerSandbox, AnEndlessLoopIsATimeout) {
  const RunnerFailure failure = failure_of(kLoops);
  EXPECT_EQ(failure.kind, Kind::kTimeout);
  EXPECT_THAT(failure.text, HasSubstr("400 ms"));
}

TEST_F(RunnerSandbox, AForkIsForbiddenAndNamed) {
  const RunnerFailure failure = failure_of(kForks);
  EXPECT_EQ(failure.kind, Kind::kForbidden);
  EXPECT_THAT(failure.text, HasSubstr("system call clone while running ww_forward"));
}

TEST_F(RunnerSandbox, AThreadThatWritesLateLeavesTheOutputPoisoned) {
  auto runner = start(kWritesLate);
  ASSERT_TRUE(runner);
  for (int call = 0; call < 3; call++) {
    const CallReport report = forward(*runner, kWritesLate);
    ASSERT_FALSE(report.failure);
    EXPECT_TRUE(std::isnan(float_at(runner->lent(0).output(0, 0), 0)));
  }
}

TEST_F(RunnerSandbox, AThreadThatComputesOnStandsStillWhileStopped) {
  auto runner = start(kSpinsOn);
  ASSERT_TRUE(runner);
  ASSERT_FALSE(forward(*runner, kSpinsOn).failure);
  ASSERT_TRUE(std::holds_alternative<Runner::Prepared>(runner->prepare(0, kHonest)));
  const CallReport report = forward(*runner, kHonest);
  ASSERT_FALSE(report.failure);
  EXPECT_TRUE(adds(*runner));
  EXPECT_EQ(report.times.cpu_while_stopped.count(), 0);
  EXPECT_GE(report.threads, 3);
}

TEST_F(RunnerSandbox, StatusesAreToldApart) {
  auto runner = start(kUnsupported);
  ASSERT_TRUE(runner);
  const CallReport unsupported = forward(*runner, kUnsupported);
  EXPECT_FALSE(unsupported.failure);
  EXPECT_TRUE(unsupported.unsupported);
  ASSERT_TRUE(std::holds_alternative<Runner::Prepared>(runner->prepare(0, kFails)));
  const CallReport failed = forward(*runner, kFails);
  ASSERT_TRUE(failed.failure);
  EXPECT_EQ(failed.failure->kind, Kind::kStatus);
  EXPECT_EQ(failed.failure->text, "ww_forward returned 7");
  EXPECT_TRUE(runner->alive());
}

TEST_F(RunnerSandbox, ExitingInACallIsACrash) {
  EXPECT_THAT(failure_of(kExits).text, HasSubstr("exited with code 0 while running ww_forward"));
}

TEST_F(RunnerSandbox, AnExceptionIsACrashWithItsLastWords) {
  const RunnerFailure failure = failure_of(kThrows);
  EXPECT_EQ(failure.kind, Kind::kCrash);
  EXPECT_THAT(failure.text, HasSubstr("deliberate"));
}

TEST_F(RunnerSandbox, StoppingItselfGainsNothing) {
  auto runner = start(kStopsItself);
  ASSERT_TRUE(runner);
  const CallReport report = forward(*runner, kStopsItself);
  // Either the signal is ignored (pid 1 of its namespace) or the call runs into its limit.
  EXPECT_TRUE(report.failure ? report.failure->kind == Kind::kTimeout : adds(*runner));
}

TEST_F(RunnerSandbox, EatingMemoryIsOutOfMemory) {
  if (!sandbox::probe().has("cgroup_memory")) GTEST_SKIP() << "no memory limit of a tree here";
  EXPECT_EQ(failure_of(kEatsMemory).kind, Kind::kOutOfMemory);
}

TEST_F(RunnerSandbox, AFloodOfOutputNeitherBlocksNorFails) {
  auto runner = start(kPrints);
  ASSERT_TRUE(runner);
  EXPECT_FALSE(forward(*runner, kPrints).failure);
  EXPECT_TRUE(adds(*runner));
}

TEST_F(RunnerSandbox, AFloodedGoDescriptorDoesNotHangTheJudge) {
  auto runner = start(kFloodsGo);
  ASSERT_TRUE(runner);
  for (int call = 0; call < 2; call++) {
    const CallReport report = forward(*runner, kFloodsGo);
    EXPECT_TRUE(!report.failure || report.failure->kind == Kind::kProtocol);
  }
}

TEST_F(RunnerSandbox, ARunnerKilledFromOutsideBetweenCallsIsNoticed) {
  auto runner = start(kHonest);
  ASSERT_TRUE(runner);
  ASSERT_EQ(::kill(runner->pid(), SIGKILL), 0);
  const CallReport report = forward(*runner, kHonest);
  ASSERT_TRUE(report.failure);
  EXPECT_EQ(report.failure->kind, Kind::kCrash);
}

TEST_F(RunnerSandbox, StopIsIdempotentAndResumeLetsTheProcessRun) {
  auto runner = start(kHonest);
  ASSERT_TRUE(runner);
  EXPECT_TRUE(stop(runner->endpoint()));
  EXPECT_TRUE(stop(runner->endpoint()));
  resume(runner->endpoint());
  EXPECT_TRUE(stop(runner->endpoint()));
  EXPECT_FALSE(forward(*runner, kHonest).failure);
}

TEST_F(RunnerSandbox, ATwinSpinsAsLongAsItIsTold) {
  RunnerProcessSetup process;
  process.program = WW_TEST_RUNNER;
  process.threads = 2;
  ClockTwin twin(process);
  for (const int spin_us : {0, 100, 1000}) {
    const nanoseconds spin{spin_us * 1000};
    const TwinSample sample = twin.sample(spin);
    EXPECT_GE(sample.inner, spin);
    EXPECT_GE(sample.outer, sample.inner);
  }
}

TEST_F(RunnerSandbox, AnEndpointThatIsNotOurChildIsStoppedAndTimedToo) {
  auto runner = start(kHonest);
  ASSERT_TRUE(runner);
  Endpoint other = runner->endpoint();
  other.our_child = false;
  resume(other);
  EXPECT_TRUE(stop(other));
  EXPECT_TRUE(stop(other));
}

}  // namespace
}  // namespace ww::judge
