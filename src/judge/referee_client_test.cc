// SPDX-License-Identifier: Apache-2.0
//
// Needs a Python with torch (WW_TEST_PYTHON) and namespaces. One warm parent serves all tests.
#include "judge/referee_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <span>

#include "base/fault.h"
#include "base/json.h"
#include "device/shared_memory.h"

namespace ww::judge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr nanoseconds kLimit = seconds(60);

constexpr const char* kScale = R"(
import torch
SIZE = 4
class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(SIZE))
        self.factor = factor
    def forward(self, x):
        return x * self.weight * self.factor
def get_inputs():
    return [torch.randn(3, SIZE)]
def get_init_inputs():
    return [3.0]
)";

std::string with_forward(const std::string& body) {
  return "import torch, time\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        " + body +
         "\ndef get_inputs():\n    return [torch.ones(4)]\n";
}

RefereeSettings settings() { return {.python = WW_TEST_PYTHON, .package_folder = WW_TEST_PACKAGE}; }

class Referee : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { parent_ = std::make_unique<RefereeParent>(settings()); }
  static void TearDownTestSuite() { parent_.reset(); }
  void SetUp() override { child_ = parent_->open(2); }

  Result<Loaded> load(const std::string& source, bool check = false, nanoseconds limit = kLimit) {
    return child_->load({.workload = "w", .filename = "model.py", .source = source, .contract = {}, .check = check},
                        limit);
  }

  /// Loads kScale and shares an arena: x at 0, weight, expected, truth, other at 1024 bytes' distance each.
  void start_scale() {
    auto loaded = child_->load(
        {.workload = "w", .filename = "model.py", .source = kScale, .set = R"({"SIZE":8})", .contract = {}}, kLimit);
    ASSERT_TRUE(loaded) << loaded.error().text();
    loaded_ = *loaded;
    arena_ = device::SharedMemory("arena", 8192);
    const RefereeLayout layout{{{0}}, {{1024}}, {{2048}}, {{3072}}, {{4096}}};
    auto attached = child_->attach("w", layout, arena_.fd(), kLimit);
    ASSERT_TRUE(attached) << attached.error().text();
  }

  template <class T>
  std::span<const T> at(uint64_t offset, size_t count) {
    return {reinterpret_cast<const T*>(arena_.data() + offset), count};
  }

  static std::unique_ptr<RefereeParent> parent_;
  std::unique_ptr<RefereeChild> child_;
  Loaded loaded_;
  device::SharedMemory arena_;
};

std::unique_ptr<RefereeParent> Referee::parent_;

TEST_F(Referee, SaysWhichTorchItHas) { EXPECT_THAT(parent_->torch_version(), HasSubstr(".")); }

TEST_F(Referee, DescribesTheTask) {
  start_scale();
  ASSERT_EQ(loaded_.inputs.size(), 1u);
  EXPECT_THAT(loaded_.inputs[0].shape, ElementsAre(3, 8));
  EXPECT_EQ(loaded_.weights[0].name, "weight");
  EXPECT_EQ(loaded_.outputs[0].name, "out");
  EXPECT_THAT(loaded_.straws, Contains("zeros"));
  EXPECT_EQ((*loaded_.reply)["init"][0]["value"], 3.0);
}

TEST_F(Referee, FillsTheArena) {
  start_scale();
  const auto drawn = child_->draw("w", {.input_seed = 7, .weight_seed = ~uint64_t{0}}, kLimit);
  ASSERT_TRUE(drawn) << drawn.error().text();
  auto expectation = child_->expect("w", true, kLimit);
  ASSERT_TRUE(expectation) << expectation.error().text();
  EXPECT_TRUE(expectation->finite && expectation->truth_available);
  for (size_t i = 0; i < 24; i++) {
    const double product = double{at<float>(0, 24)[i]} * double{at<float>(1024, 8)[i % 8]} * 3;
    EXPECT_NEAR(at<float>(2048, 24)[i], product, 1e-5);
    EXPECT_DOUBLE_EQ(at<double>(3072, 24)[i], product);
  }
  auto skipped = child_->straw("w", "zeros", kLimit);
  ASSERT_TRUE(skipped);
  EXPECT_FALSE(*skipped);
  EXPECT_EQ(at<float>(4096, 24)[5], 0.0f);
}

TEST_F(Referee, MakesTimedCallsWhileItIsStoppedInBetween) {
  start_scale();
  ASSERT_TRUE(child_->draw("w", {.input_seed = 7, .weight_seed = 8}, kLimit));
  for (uint64_t sequence = 1; sequence <= 3; sequence++) {
    resume(child_->endpoint());
    ASSERT_TRUE(child_->stage("w", RefereeSide::kEager, sequence, {}, kLimit));
    float* x = reinterpret_cast<float*>(arena_.data());
    const CallTimes times = timed_call(
        child_->endpoint(), sequence, [&] { x[0] = static_cast<float>(sequence); }, seconds(10));
    EXPECT_EQ(times.end, CallEnd::kDone);
    EXPECT_EQ(times.status, 0);
    EXPECT_GE(times.outer, times.inner);
    resume(child_->endpoint());
    ASSERT_TRUE(child_->collect("w", RefereeRegion::kOther, kLimit));
    EXPECT_FLOAT_EQ(at<float>(4096, 24)[0], static_cast<float>(sequence) * at<float>(1024, 8)[0] * 3);
  }
}

TEST_F(Referee, TwinSpinsForAsLongAsAsked) {
  auto twin = parent_->open(1, true);
  ASSERT_TRUE(twin->stage("", RefereeSide::kSpin, 5, milliseconds(2), kLimit));
  const CallTimes times = timed_call(twin->endpoint(), 5, nullptr, seconds(10));
  EXPECT_EQ(times.end, CallEnd::kDone);
  EXPECT_GE(times.inner, milliseconds(2));
}

TEST_F(Referee, CapturesTheGraph) {
  start_scale();
  auto graph = child_->capture("w", kLimit);
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ((*graph)["nodes"].size(), 2u);
}

TEST_F(Referee, FaultOfTheTaskNamesFileAndLine) {
  auto loaded = load(with_forward("raise ValueError('no')"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(child_->refusal(), RefereeChild::Refusal::kTask);
  EXPECT_EQ(loaded.error().text(), "model.py:4: forward raises ValueError: no");
  EXPECT_TRUE(load(with_forward("return x * 2"))) << "the child still serves";
  EXPECT_EQ(child_->refusal(), RefereeChild::Refusal::kNone);
}

TEST_F(Referee, LimitsAreToldFromFaults) {
  auto loaded = load(with_forward("return x * torch.rand(4)"), true);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(child_->refusal(), RefereeChild::Refusal::kLimit);
  EXPECT_THAT(loaded.error().message, ::testing::StartsWith("random_forward"));
}

TEST_F(Referee, TaskThatTakesTooLongIsEnded) {
  auto loaded = load(with_forward("time.sleep(600)"), false, milliseconds(300));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(child_->refusal(), RefereeChild::Refusal::kTimeout);
  EXPECT_EQ(loaded.error().text(), "model.py: the reference did not finish load within 0.3 s");
  EXPECT_FALSE(load(kScale));
  EXPECT_TRUE(parent_->open(1)->load({.workload = "w", .filename = "m", .source = kScale, .contract = {}}, kLimit));
}

TEST_F(Referee, TaskThatLeavesItsProcessIsNamedWithItsExit) {
  auto loaded = load(with_forward("__import__('os')._exit(9)"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(child_->refusal(), RefereeChild::Refusal::kEnded);
  EXPECT_THAT(loaded.error().message, HasSubstr("with exit code 9"));
}

TEST_F(Referee, TaskThatCrashesIsNamedWithItsSignal) {
  auto loaded = load(with_forward("__import__('ctypes').string_at(8)"));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("SIGSEGV"));
}

TEST_F(Referee, TaskCannotEndTheParent) {
  auto loaded = load(with_forward("__import__('os').kill(1, 9)\n        return x + 1"));
  EXPECT_TRUE(parent_->open(1)->load({.workload = "w", .filename = "m", .source = kScale, .contract = {}}, kLimit));
}

TEST_F(Referee, TaskThatWantsTooMuchMemoryIsRefused) {
  auto loaded = load(with_forward("return torch.ones(50_000_000_000)"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(child_->refusal(), RefereeChild::Refusal::kTask);
  EXPECT_THAT(loaded.error().message, HasSubstr("memory"));
}

TEST_F(Referee, TaskSeesNoFilesOfTheHost) {
  EXPECT_FALSE(load(with_forward("open('" WW_TEST_PACKAGE "/../README.md')\n        return x + 1")));
  EXPECT_FALSE(load(with_forward("__import__('socket').create_connection(('127.0.0.1', 22))\n        return x + 1")));
}

TEST_F(Referee, CompilesABaseline) {
  start_scale();
  ASSERT_TRUE(child_->draw("w", {.input_seed = 7, .weight_seed = 8}, kLimit));
  auto compiled = child_->compile("w", RefereeSide::kCompile, seconds(120));
  ASSERT_TRUE(compiled) << compiled.error().text();
  EXPECT_EQ(compiled->graphs, 1);
  EXPECT_EQ(compiled->breaks, 0);
  ASSERT_TRUE(child_->stage("w", RefereeSide::kCompile, 1, {}, kLimit));
  EXPECT_EQ(timed_call(child_->endpoint(), 1, nullptr, seconds(10)).status, 0);
}

TEST(RefereeStart, NamesAnInterpreterThatIsMissing) {
  RefereeSettings wrong = settings();
  wrong.python = "/usr/bin/no-python";
  EXPECT_THROW(RefereeParent{wrong}, Fault);
}

TEST(RefereeStart, SaysWhatPythonLacks) {
  RefereeSettings bare = settings();
  bare.python = "/usr/bin/python3";
  try {
    RefereeParent parent(bare);
    GTEST_SKIP() << "the system's Python has torch";
  } catch (const Fault& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("torch"));
  }
}

}  // namespace
}  // namespace ww::judge
