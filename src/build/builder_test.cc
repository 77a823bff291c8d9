// SPDX-License-Identifier: Apache-2.0
//
// With the real compiler in the real sandbox; each compilation costs a few tenths of a second, so there are few.
#include "build/builder.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/fault.h"
#include "base/files.h"
#include "build/library_check.h"
#include "build/refusal.h"
#include "build/sources.h"

namespace ww::build {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Without the header: what most tests ask does not depend on it, and it costs the compiler time.
constexpr char kMinimal[] =
    "extern \"C\" { extern const int ww_solution_abi; const int ww_solution_abi = 1; int ww_forward(const void*) { "
    "return 0; } }\n";

class BuilderTest : public ::testing::Test {
 protected:
  Settings settings() const { return {.cache_folder = root_.path() / "cache", .include_folder = WW_INCLUDE_FOLDER}; }

  void write(const std::string& name, const std::string& text) const {
    make_folders((solution_ / name).parent_path());
    write_file(solution_ / name, text);
  }

  BuildResult build(const Settings& with, const task::Contract& contract = {}) const {
    return Builder(with).build(solution_, contract);
  }
  BuildResult build() const { return build(settings()); }

  /// The text of the failure, "built" where there is none.
  std::string failure_text(const BuildResult& built, Failure::Kind kind = Failure::Kind::kBuildError) const {
    if (built.artifact()) return "built";
    EXPECT_EQ(built.failure()->kind, kind);
    return built.failure()->text;
  }

  TemporaryFolder root_{"ww-builder-test"};
  fs::path solution_ = root_.path() / "solution";
};

TEST_F(BuilderTest, MakesALoadableLibraryAndFindsItAgain) {
  write("kernels/a.cpp", "#include <warpwright/solution.h>\nint ww_forward(const ww_call*) { return WW_OK; }\n");
  const BuildResult first = build();
  ASSERT_TRUE(first.artifact()) << first.failure()->text;
  EXPECT_FALSE(first.artifact()->cached);
  void* handle = ::dlopen(first.artifact()->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << ::dlerror();
  EXPECT_TRUE(::dlsym(handle, "ww_forward"));
  ::dlclose(handle);

  write("kernels/a.cpp", "#include <warpwright/solution.h>\r\nint ww_forward(const ww_call*) { return WW_OK; }\r\n");
  const BuildResult second = build();
  ASSERT_TRUE(second.artifact());
  EXPECT_TRUE(second.artifact()->cached);
  EXPECT_EQ(second.artifact()->sha256, first.artifact()->sha256);
  EXPECT_EQ(second.solution_id, first.solution_id);
  EXPECT_EQ(second.artifact()->compile_s, first.artifact()->compile_s);
}

TEST_F(BuilderTest, CompilesSeveralFilesWithHeadersOfTheirOwn) {
  write("kernels/deep/value.h", "inline int value() { return 0; }\n");
  write("kernels/a.cpp",
        "int helper();\nextern \"C\" { extern const int ww_solution_abi; const int ww_solution_abi = 1; int "
        "ww_forward(const void*) { return helper(); } }\n");
  write("kernels/b.cpp", "#include \"deep/value.h\"\nint helper() { return value(); }\n");
  EXPECT_EQ(failure_text(build()), "built");
  write("kernels/b.cpp", "int helper() { return missing; }\n");
  EXPECT_THAT(failure_text(build()), HasSubstr("kernels/b.cpp:1:"));
}

TEST_F(BuilderTest, NamesFileAndLineOfAnErrorAndCountsThem) {
  write("kernels/a.cpp", "int a = b;\nint c = d;\n");
  const BuildResult built = build();
  EXPECT_THAT(failure_text(built), HasSubstr("kernels/a.cpp:1:9: error: "));
  EXPECT_THAT(failure_text(built), Not(HasSubstr(root_.path().string())));
  EXPECT_EQ(built.failure()->errors, 2u);
  EXPECT_FALSE(built.solution_id.empty());
}

TEST_F(BuilderTest, ShowsTheCompilerNothingOfTheHost) {
  write_file(root_.path() / "secret.h", "int secret_4711;\n");
  std::string probes;
  for (const std::string& path : {(root_.path() / "secret.h").string(), (solution_ / "kernels/a.cpp").string(),
                                  std::string(WW_INCLUDE_FOLDER "/warpwright/solution.h"), std::string("/etc/shadow"),
                                  std::string("/etc/hostname"), std::string("/proc/1/environ/../../../etc/shadow"),
                                  std::string("/root/.bashrc")}) {
    probes += "#if __has_include(\"" + path + "\")\n#error seen " + path + "\n#endif\n";
  }
  write("kernels/a.cpp", probes + kMinimal);
  EXPECT_EQ(failure_text(build()), "built");
  write("kernels/a.cpp", "asm(\".incbin \\\"" + (root_.path() / "secret.h").string() + "\\\"\");\n" + kMinimal);
  EXPECT_THAT(failure_text(build()), Not(HasSubstr("secret_4711")));
}

TEST_F(BuilderTest, StopsACompilationThatTakesTooLong) {
  write("kernels/a.cpp",
        "template <int N, int M> struct F { static const int v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };\n"
        "template <int M> struct F<0, M> { static const int v = 1; };\nint v = F<26, 1>::v;\n");
  Settings hasty = settings();
  hasty.limits.wall = milliseconds(300);
  EXPECT_THAT(failure_text(build(hasty)), HasSubstr("longer than 0.3 s"));
}

TEST_F(BuilderTest, StopsACompilationThatNeedsTooMuchMemory) {
  write("kernels/a.cpp",
        "template <int N, int M> struct F { static const int v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };\n"
        "template <int M> struct F<0, M> { static const int v = 1; };\nint v = F<26, 1>::v;\n");
  Settings tight = settings();
  tight.limits.memory_bytes = 20u << 20;
  EXPECT_THAT(failure_text(build(tight)), HasSubstr("memory"));
}

TEST_F(BuilderTest, RefusesALibraryThatBecomesTooLarge) {
  write("kernels/a.cpp", std::string("asm(\".data\\n.fill 3000000, 1, 7\\n.text\");\n") + kMinimal);
  Settings tight = settings();
  tight.limits.artifact_bytes = 1u << 20;
  EXPECT_THAT(failure_text(build(tight)), HasSubstr("limits: 1 MiB a file"));
}

TEST_F(BuilderTest, RefusesAnotherAbiVersion) {
  write("kernels/a.cpp",
        "extern \"C\" { extern const int ww_solution_abi; const int ww_solution_abi = 7; int ww_forward(const void*) { "
        "return 0; } }\n");
  EXPECT_THAT(failure_text(build()), HasSubstr("ABI version 7"));
}

TEST_F(BuilderTest, MendsABrokenEntryAndShrugsOffALostRace) {
  write("kernels/a.cpp", kMinimal);
  BuildResult results[2];
  {
    std::jthread other([&] { results[0] = build(); });
    results[1] = build();
  }
  ASSERT_TRUE(results[0].artifact() && results[1].artifact());
  EXPECT_EQ(results[0].artifact()->path, results[1].artifact()->path);
  write_file(results[0].artifact()->path, "half");
  const BuildResult mended = build();
  ASSERT_TRUE(mended.artifact());
  EXPECT_FALSE(mended.artifact()->cached);
  EXPECT_EQ(fs::file_size(mended.artifact()->path), mended.artifact()->bytes);
}

TEST_F(BuilderTest, IsNotHeldUpByABuildThatWasKilled) {
  write("kernels/a.cpp", std::string("// killed\n") + kMinimal);
  const pid_t child = ::fork();
  if (child == 0) {
    build();
    ::_exit(0);
  }
  ::usleep(30'000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(failure_text(build()), "built");
}

TEST_F(BuilderTest, ThrowsAFaultForACompilerThatIsNotThere) {
  Settings without = settings();
  without.compiler = "/usr/bin/no-such-compiler";
  EXPECT_THROW(Builder{without}, Fault);
}

class SourcesTest : public BuilderTest {
 protected:
  std::string refusal(Failure::Kind kind = Failure::Kind::kBuildError, const Limits& limits = {}) const {
    try {
      read_sources(solution_, limits);
      return "read";
    } catch (const Refusal& refusal) {
      EXPECT_EQ(refusal.failure.kind, kind);
      return refusal.failure.text;
    }
  }
};

TEST_F(SourcesTest, OfAMissingFolderOrAFileAreBadInput) {
  EXPECT_THAT(refusal(Failure::Kind::kBadInput), HasSubstr("No such file"));
  write_file(solution_, "text");
  EXPECT_THAT(refusal(Failure::Kind::kBadInput), HasSubstr("is not a folder"));
}

TEST_F(SourcesTest, NeedAFolderKernels) {
  make_folders(solution_);
  EXPECT_THAT(refusal(), HasSubstr("no folder kernels/"));
  EXPECT_THAT(failure_text(build()), HasSubstr("no folder kernels/"));
}

TEST_F(SourcesTest, NeedACppFile) {
  make_folders(solution_ / "kernels");
  EXPECT_THAT(failure_text(build()), HasSubstr("kernels/ is empty"));
  write("kernels/a.cu", "text");
  EXPECT_THAT(failure_text(build()), HasSubstr("not compiled: kernels/a.cu; device cpu compiles kernels/*.cpp"));
}

TEST_F(SourcesTest, MayHaveNamesThatACompilerCouldTakeForFlags) {
  write("kernels/--help.h", "#pragma once\n");
  write("kernels/@args.cpp", kMinimal);
  write("kernels/-o evil.cpp", "#include \"--help.h\"\nint helper() { return 0; }\n");
  write("kernels/\xc3\xa4 \xe2\x82\xac.cpp", "#include \"sub folder/x.h\"\n");
  write("kernels/sub folder/x.h", "#pragma once\n");
  EXPECT_EQ(failure_text(build()), "built");
}

TEST_F(SourcesTest, ThatWereNotCompiledAreNamedWhereTheBuildFails) {
  write("kernels/a.cpp", "int helper();\nextern \"C\" int ww_forward(const void*) { return helper(); }\n");
  write("kernels/helper.C", "int helper() { return 0; }\n");
  write("kernels/detail/more.cpp", "\n");
  write("kernels/table.inc", "\n");
  const std::string text = failure_text(build());
  EXPECT_THAT(text, HasSubstr("undefined reference"));
  EXPECT_THAT(text, HasSubstr("not compiled: kernels/detail/more.cpp, kernels/helper.C; "));
}

TEST_F(SourcesTest, HoldNoLinkPipeOrOddName) {
  write("kernels/a.cpp", "text");
  fs::create_symlink("/etc/passwd", solution_ / "kernels/b.h");
  EXPECT_THAT(refusal(), HasSubstr("kernels/b.h: is a symbolic link"));
  fs::remove(solution_ / "kernels/b.h");
  fs::create_symlink("/etc", solution_ / "notes");
  EXPECT_THAT(refusal(), HasSubstr("notes: is a symbolic link"));
  fs::remove(solution_ / "notes");
  ::mkfifo((solution_ / "kernels/c.h").c_str(), 0600);
  EXPECT_THAT(refusal(), HasSubstr("kernels/c.h: is not a regular file"));
  fs::remove(solution_ / "kernels/c.h");
  write("kernels/\xff.h", "text");
  EXPECT_THAT(refusal(), HasSubstr("not plain UTF-8"));
}

TEST_F(SourcesTest, StayWithinTheLimits) {
  write("kernels/a.cpp", std::string(1000, ' '));
  EXPECT_THAT(refusal(Failure::Kind::kBuildError, {.file_bytes = 999}),
              HasSubstr("kernels/a.cpp: is larger than 999 bytes"));
  EXPECT_THAT(refusal(Failure::Kind::kBuildError, {.source_bytes = 999}), HasSubstr("larger than 999 bytes together"));
  EXPECT_THAT(refusal(Failure::Kind::kBuildError, {.files = 0}), HasSubstr("more than 0 files"));
}

TEST_F(SourcesTest, HaveAnIdOfNamesAndContents) {
  write("kernels/a.cpp", "text");
  const std::string id = read_sources(solution_, {}).id;
  write("kernels/a.cpp", "text ");
  EXPECT_NE(read_sources(solution_, {}).id, id);
  write("kernels/a.cpp", "text");
  write("README.md", "does not count");
  EXPECT_EQ(read_sources(solution_, {}).id, id);
  fs::rename(solution_ / "kernels/a.cpp", solution_ / "kernels/b.cpp");
  EXPECT_NE(read_sources(solution_, {}).id, id);
}

}  // namespace
}  // namespace ww::build
