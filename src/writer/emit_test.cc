// SPDX-License-Identifier: Apache-2.0
//
// Emitted sources are compiled by the real compiler, loaded and held against plain loops. One compilation serves all.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "base/child.h"
#include "base/files.h"
#include "warpwright/solution.h"
#include "writer/test_graphs.h"
#include "writer/writer.h"

namespace ww::writer {
namespace {

constexpr int64_t kRows = 6, kColumns = 37;
constexpr float kTolerance = 2e-6f;

// Rows, lanes, windows, joins and lookups in one graph, so that one compilation covers them.
task::Graph everything() {
  return GraphText()
      .input("x", "[6, 37]")
      .input("picked", "[6]", "int64")
      .input("w", "[37]", "float32", "weight")
      .node("g", "gelu.default", "$x", "[6, 37]")
      .node("n", "layer_norm.default", "$g, [37], $w, null, 1e-05, false", "[6, 37]")
      .node("s", "softmax.int", "$x, 0", "[6, 37]")
      .node("a", "argmax.default", "$x, -1", "[6]", "int64")
      .node("c", "cumsum.default", "$x, -1", "[6, 37]")
      .node("l", "slice.Tensor", "$x, 1, 10, 37", "[6, 27]")
      .node("r", "slice.Tensor", "$x, 1, 0, 10", "[6, 10]")
      .node("m", "neg.default", "$l", "[6, 27]")
      .node("j", "cat.default", "[$m, $r], 1", "[6, 37]")
      .node("i", "index_select.default", "$x, 0, $picked", "[6, 37]")
      .node("u", "unsqueeze.default", "$x, 0", "[1, 6, 37]")
      .node("p", "max_pool2d.default", "$u, [3, 3], [2, 2], [1, 1]", "[1, 3, 19]")
      .node("t", "transpose.int", "$x, 0, 1", "[37, 6]")
      .node("e", "tanh.default", "$t", "[37, 6]")
      .node("h", "_to_copy.default", "$e", "[37, 6]", "bfloat16")
      .output("n", "norm")
      .output("s", "softmax")
      .output("a", "argmax")
      .output("c", "cumsum")
      .output("j", "cat")
      .output("i", "picked_rows")
      .output("p", "pool")
      .output("h", "narrow")
      .graph();
}

/// The lists of a call over vectors that the test owns.
class Lists {
 public:
  template <class T>
  void add(const std::string& name, DLDataType dtype, std::vector<int64_t> shape, std::vector<T>& data) {
    auto entry = std::make_unique<Entry>();
    entry->name = name;
    entry->shape = std::move(shape);
    entry->tensor = {
        data.data(), {kDLCPU, 0}, static_cast<int32_t>(entry->shape.size()), dtype, entry->shape.data(), nullptr, 0};
    names_.push_back(entry->name.c_str());
    items_.push_back(&entry->tensor);
    entries_.push_back(std::move(entry));
  }
  ww_tensors view() { return {static_cast<int32_t>(names_.size()), names_.data(), items_.data()}; }

 private:
  struct Entry {
    std::string name;
    std::vector<int64_t> shape;
    DLTensor tensor;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<const char*> names_;
  std::vector<DLTensor*> items_;
};

class Emitted : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto list = candidates({everything()}, "everything");
    ASSERT_TRUE(list.ok()) << list.error().text();
    TemporaryFolder folder("writer-test");
    const std::string source = folder.path() / "kernel.cpp", library = folder.path() / "kernel.so";
    write_file(source, list->back().files.at("kernels/kernel.cpp"));
    const ChildResult built = run_child({"g++", "-std=c++20", "-O1", "-march=native", "-fopenmp", "-fPIC", "-shared",
                                         "-I" WW_INCLUDE_FOLDER, "-o", library, source},
                                        seconds(60));
    ASSERT_EQ(built.exit_code, 0) << built.errors;
    // Never closed: the threads of its OpenMP runtime wait in code that would be gone.
    library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  void SetUp() override {
    ASSERT_NE(library_, nullptr);
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    for (float& value : x_) value = normal(generator);
    for (float& value : w_) value = normal(generator);
    inputs_.add("x", {kDLFloat, 32, 1}, {kRows, kColumns}, x_);
    inputs_.add("picked", {kDLInt, 64, 1}, {kRows}, picked_);
    weights_.add("w", {kDLFloat, 32, 1}, {kColumns}, w_);
    for (const char* name : {"norm", "softmax", "cumsum", "cat", "picked_rows"}) {
      outputs_.add(name, {kDLFloat, 32, 1}, {kRows, kColumns}, out_[name]);
    }
    outputs_.add("pool", {kDLFloat, 32, 1}, {1, 3, 19}, out_["pool"]);
    outputs_.add("argmax", {kDLInt, 64, 1}, {kRows}, argmax_);
    outputs_.add("narrow", {kDLBfloat, 16, 1}, {kColumns, kRows}, narrow_);
  }

  template <class Function>
  static Function* function(const char* name) {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

  /// Runs one config on two threads over a workspace of noise.
  int run(int32_t config) {
    ww_call call{};
    call.struct_size = sizeof call;
    call.config = config;
    call.inputs = inputs_.view();
    call.weights = weights_.view();
    call.outputs = outputs_.view();
    call.threads = 2;
    std::vector<char> workspace(function<uint64_t(const ww_call*)>("ww_workspace_bytes")(&call) + 256, '\x7f');
    call.workspace = workspace.data();
    EXPECT_EQ(function<int(const ww_call*)>("ww_prepare")(&call), WW_OK);
    return function<int(const ww_call*)>("ww_forward")(&call);
  }

  float at(int64_t row, int64_t column) const { return x_[static_cast<size_t>(row * kColumns + column)]; }

  static inline void* library_ = nullptr;
  std::vector<float> x_ = std::vector<float>(kRows * kColumns), w_ = std::vector<float>(kColumns);
  std::vector<int64_t> picked_{5, 0, 3, 3, 1, 2}, argmax_ = std::vector<int64_t>(kRows, -1);
  std::vector<uint16_t> narrow_ = std::vector<uint16_t>(kRows * kColumns);
  std::map<std::string, std::vector<float>> out_{
      {"norm", std::vector<float>(kRows* kColumns, NAN)},        {"softmax", std::vector<float>(kRows* kColumns, NAN)},
      {"cumsum", std::vector<float>(kRows* kColumns, NAN)},      {"cat", std::vector<float>(kRows* kColumns, NAN)},
      {"picked_rows", std::vector<float>(kRows* kColumns, NAN)}, {"pool", std::vector<float>(57, NAN)}};
  Lists inputs_, weights_, outputs_;
};

TEST_F(Emitted, EveryConfigComputesTheGraph) {
  const int32_t configs = function<int32_t()>("ww_config_count")();
  ASSERT_GE(configs, 2);
  for (int32_t config = 0; config < configs; ++config) {
    SCOPED_TRACE(config);
    for (auto& [name, values] : out_) std::fill(values.begin(), values.end(), NAN);
    ASSERT_EQ(run(config), WW_OK);
    for (int64_t row = 0; row < kRows; ++row) {
      double mean = 0, square = 0, sum = 0, best = -INFINITY;
      const auto gelu = [&](int64_t j) { return 0.5 * at(row, j) * (1 + std::erf(at(row, j) / std::sqrt(2.0))); };
      for (int64_t j = 0; j < kColumns; ++j) mean += gelu(j) / kColumns;
      for (int64_t j = 0; j < kColumns; ++j) square += (gelu(j) - mean) * (gelu(j) - mean) / kColumns;
      for (int64_t j = 0; j < kColumns; ++j) {
        const auto here = static_cast<size_t>(row * kColumns + j);
        const double norm = (gelu(j) - mean) / std::sqrt(square + 1e-5) * w_[static_cast<size_t>(j)];
        EXPECT_NEAR(out_["norm"][here], norm, 10 * kTolerance);
        sum += at(row, j);
        EXPECT_NEAR(out_["cumsum"][here], sum, 10 * kTolerance);
        double total = 0;
        for (int64_t i = 0; i < kRows; ++i) total += std::exp(at(i, j));
        EXPECT_NEAR(out_["softmax"][here], std::exp(at(row, j)) / total, kTolerance);
        EXPECT_EQ(out_["cat"][here], j < 27 ? -at(row, j + 10) : at(row, j - 27));
        EXPECT_EQ(out_["picked_rows"][here], at(picked_[static_cast<size_t>(row)], j));
        const float narrow = ww_bf16_to_float(narrow_[static_cast<size_t>(j * kRows + row)]);
        EXPECT_NEAR(narrow, std::tanh(at(row, j)), 0x1p-8);
        best = std::max<double>(best, at(row, j));
      }
      EXPECT_EQ(at(row, argmax_[static_cast<size_t>(row)]), best);
    }
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t column = 0; column < 19; ++column) {
        float top = -INFINITY;
        for (int64_t i = std::max<int64_t>(2 * row - 1, 0); i <= std::min(2 * row + 1, kRows - 1); ++i) {
          for (int64_t j = std::max<int64_t>(2 * column - 1, 0); j <= std::min(2 * column + 1, kColumns - 1); ++j) {
            top = std::max(top, at(i, j));
          }
        }
        EXPECT_EQ(out_["pool"][static_cast<size_t>(row * 19 + column)], top);
      }
    }
  }
}

TEST_F(Emitted, OtherShapesAreNotSupported) {
  Lists other;
  other.add("x", {kDLFloat, 32, 1}, {kColumns, kRows}, x_);
  other.add("picked", {kDLInt, 64, 1}, {kRows}, picked_);
  inputs_ = std::move(other);
  ww_call call{};
  call.inputs = inputs_.view();
  call.weights = weights_.view();
  call.outputs = outputs_.view();
  call.threads = 1;
  EXPECT_EQ(function<int(const ww_call*)>("ww_forward")(&call), WW_UNSUPPORTED);
}

TEST(EmittedText, NamesOperatorsAndShapesForItsReaders) {
  const auto list = candidates({everything()}, "everything");
  ASSERT_TRUE(list.ok());
  const std::string& text = list->back().files.at("kernels/kernel.cpp");
  EXPECT_THAT(text, testing::HasSubstr("gelu, layer_norm"));
  EXPECT_THAT(text, testing::HasSubstr("reads  x [6, 37] float32"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("dnnl")));
}

TEST(EmittedText, AnInputNamedLikeSomethingOfOursIsRenamed) {
  const auto list = candidates(
      {GraphText().input("data", "[4]").node("int", "exp.default", "$data", "[4]").output("int", "out").graph()}, "t");
  ASSERT_TRUE(list.ok());
  EXPECT_THAT(list->back().files.at("kernels/kernel.cpp"), testing::HasSubstr("data_tensor = data<float>"));
}

}  // namespace
}  // namespace ww::writer
