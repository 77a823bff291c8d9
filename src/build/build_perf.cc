// SPDX-License-Identifier: Apache-2.0
//
// Edit to loadable against the bare compiler with the same flags, and the cost of an unchanged solution, from one run
// with the two interleaved. Usage: ww_build_perf INCLUDE_FOLDER [ROUNDS]
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/child.h"
#include "base/files.h"
#include "build/builder.h"

namespace {

using namespace ww;

constexpr milliseconds kCompilerLimit{120'000};

/// A small kernel as a person would write it; `edit` makes it new.
std::string kernel(int edit) {
  return fmt::format(R"(#include <math.h>
#include "warpwright/solution.h"

int ww_forward(const ww_call* call) {{
  const DLTensor* in = call->inputs.items[0];
  const float* x = (const float*)in->data;
  float* y = (float*)call->outputs.items[0]->data;
  int64_t n = 1;
  for (int i = 0; i < in->ndim; i++) n *= in->shape[i];
#pragma omp parallel for simd num_threads(call->threads)
  for (int64_t i = 0; i < n; i++) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f)) + {}.0f;
  return WW_OK;
}}
)",
                     edit);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double loadable_ms(const fs::path& library, nanoseconds start) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle || !::dlsym(handle, "ww_forward")) std::abort();
  const double ms = to_us(now() - start) / 1e3;
  ::dlclose(handle);
  return ms;
}

struct Bench {
  TemporaryFolder folder{"ww-build-perf"};
  fs::path include;
  build::Builder builder;
  task::Contract contract;

  explicit Bench(const fs::path& include_folder)
      : include(include_folder), builder({.cache_folder = folder.path() / "cache", .include_folder = include_folder}) {
    make_folders(folder.path() / "solution/kernels");
    make_folders(folder.path() / "bare/kernels");
    fs::create_directory_symlink(fs::absolute(include_folder), folder.path() / "bare/include");
  }

  double bare_ms(int edit) const {
    const fs::path root = folder.path() / "bare";
    write_file(root / "kernels/gelu.cpp", kernel(edit));
    std::string line = "cd " + root.string() + " && exec";
    for (const std::string& word : builder.command(contract, {"kernels/gelu.cpp"}, fmt::format("{}.so", edit)))
      line += " '" + word + "'";
    const nanoseconds start = now();
    if (run_child({"/bin/sh", "-c", line}, kCompilerLimit).exit_code != 0) std::abort();
    return loadable_ms(root / fmt::format("{}.so", edit), start);
  }

  double build_ms(int edit) const {
    write_file(folder.path() / "solution/kernels/gelu.cpp", kernel(edit));
    const nanoseconds start = now();
    const build::BuildResult built = builder.build(folder.path() / "solution", contract);
    if (!built.artifact()) {
      fmt::print("{}\n", built.failure()->text);
      std::abort();
    }
    return loadable_ms(built.artifact()->path, start);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const nanoseconds start = now();
  const Bench bench(argv[1]);
  fmt::print("start of a builder      {:8.2f} ms\n", to_us(now() - start) / 1e3);
  std::vector<double> bare, built, unchanged, ratios;
  for (int i = 0; i < rounds; i++) {
    const bool bare_first = i % 2 == 0;
    if (bare_first) bare.push_back(bench.bare_ms(i));
    built.push_back(bench.build_ms(i));
    if (!bare_first) bare.push_back(bench.bare_ms(i));
    unchanged.push_back(bench.build_ms(i));
    ratios.push_back(built.back() / bare.back());
  }
  fmt::print("bare compiler           {:8.2f} ms   least {:8.2f}\n", median(bare), *std::ranges::min_element(bare));
  fmt::print("edit to loadable        {:8.2f} ms   least {:8.2f}\n", median(built), *std::ranges::min_element(built));
  fmt::print("ratio                   {:8.3f}      of least times {:8.3f}   goal 1.3\n", median(ratios),
             *std::ranges::min_element(built) / *std::ranges::min_element(bare));
  fmt::print("unchanged               {:8.2f} ms   most {:8.2f}   goal 20\n", median(unchanged),
             *std::ranges::max_element(unchanged));
}
