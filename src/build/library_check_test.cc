// SPDX-License-Identifier: Apache-2.0
//
// One library is compiled, and spoilt in a different way by each test.
#include "build/library_check.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/child.h"
#include "base/files.h"
#include "build/refusal.h"

namespace ww::build {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class LibraryCheckTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TemporaryFolder folder("ww-library-check-test");
    const fs::path source = folder.path() / "a.cpp", library = folder.path() / "a.so";
    write_file(source,
               "#include <math.h>\n#include <warpwright/solution.h>\nint ww_forward(const ww_call* c) { return "
               "(int)erff((float)c->config); }\n");
    const ChildResult child = run_child(
        {"g++", "-shared", "-fPIC", "-I" WW_INCLUDE_FOLDER, source.string(), "-o", library.string()}, seconds(60));
    ASSERT_EQ(child.exit_code, 0) << child.errors;
    good_ = *read_file(library);
  }

  Elf64_Ehdr* header() { return reinterpret_cast<Elf64_Ehdr*>(bytes_.data()); }

  Elf64_Phdr* segment(uint32_t type) {
    auto* segments = reinterpret_cast<Elf64_Phdr*>(bytes_.data() + header()->e_phoff);
    for (size_t i = 0; i < header()->e_phnum; i++) {
      if (segments[i].p_type == type) return segments + i;
    }
    return nullptr;
  }

  Elf64_Dyn* dynamic(int64_t tag) {
    auto* entry = reinterpret_cast<Elf64_Dyn*>(bytes_.data() + segment(PT_DYNAMIC)->p_offset);
    while (entry->d_tag != tag && entry->d_tag != DT_NULL) entry++;
    return entry->d_tag == tag ? entry : nullptr;
  }

  void replace(const std::string& from, const std::string& to) {
    ASSERT_EQ(from.size(), to.size());
    const size_t at = bytes_.find(from);
    ASSERT_NE(at, std::string::npos);
    bytes_.replace(at, from.size(), to);
  }

  std::string refusal(Failure::Kind kind) {
    try {
      check_library(bytes_, true);
      return "accepted";
    } catch (const Refusal& refusal) {
      EXPECT_EQ(refusal.failure.kind, kind);
      return refusal.failure.text;
    }
  }
  std::string forbidden() { return refusal(Failure::Kind::kForbidden); }
  std::string unbuilt() { return refusal(Failure::Kind::kBuildError); }

  static inline std::string good_;
  std::string bytes_ = good_;
};

TEST_F(LibraryCheckTest, AcceptsAnHonestLibraryAndSaysWhatItNeeds) {
  EXPECT_THAT(check_library(bytes_, false).needs, Contains("libm.so.6"));
}

TEST_F(LibraryCheckTest, ForbidsOtherLibrariesByName) {
  replace("libm.so.6", "libz.so.1");
  EXPECT_THAT(forbidden(), HasSubstr("libz.so.1"));
}

TEST_F(LibraryCheckTest, ForbidsOneDnnWhereTheContractDoes) {
  // The longest name in the table that may be overwritten is shorter than libdnnl.so.2, so the entry points elsewhere.
  replace("__cxa_finalize", std::string("libdnnl.so.2\0\0", 14));
  const size_t table = good_.find("__cxa_finalize");
  const size_t strings = table - good_.substr(0, table).rfind(std::string(2, '\0')) - 1;
  dynamic(DT_NEEDED)->d_un.d_val = strings;
  EXPECT_EQ(unbuilt(), "accepted");
  EXPECT_THROW(check_library(bytes_, false), Refusal);
}

TEST_F(LibraryCheckTest, ForbidsSearchPathsAuditorsAndFilters) {
  for (const int64_t tag : {DT_RPATH, DT_RUNPATH, DT_AUDIT, DT_DEPAUDIT, DT_FILTER, DT_AUXILIARY, DT_TEXTREL}) {
    bytes_ = good_;
    dynamic(DT_RELACOUNT)->d_tag = tag;
    EXPECT_THAT(forbidden(), HasSubstr("the library uses")) << tag;
  }
}

TEST_F(LibraryCheckTest, ForbidsAnExecutableStack) {
  segment(PT_GNU_STACK)->p_flags |= PF_X;
  EXPECT_THAT(forbidden(), HasSubstr("executable stack"));
  segment(PT_GNU_STACK)->p_type = PT_NULL;
  EXPECT_THAT(forbidden(), HasSubstr("stack"));
}

TEST_F(LibraryCheckTest, ForbidsMemoryThatIsWritableAndExecutable) {
  segment(PT_LOAD)->p_flags |= PF_W | PF_X;
  EXPECT_THAT(forbidden(), HasSubstr("writable and executable"));
}

TEST_F(LibraryCheckTest, NamesWhatIsNotExported) {
  replace("ww_forward", "ww_forwarf");
  EXPECT_THAT(unbuilt(), HasSubstr("no ww_forward"));
  bytes_ = good_;
  replace("ww_solution_abi", "ww_solution_abj");
  EXPECT_THAT(unbuilt(), HasSubstr("include warpwright/solution.h"));
}

TEST_F(LibraryCheckTest, RefusesWhatIsNoLibrary) {
  bytes_ = "";
  EXPECT_THAT(unbuilt(), HasSubstr("malformed"));
  bytes_ = std::string(4096, 'x');
  EXPECT_THAT(unbuilt(), HasSubstr("malformed"));
  bytes_ = good_;
  header()->e_type = ET_EXEC;
  EXPECT_THAT(unbuilt(), HasSubstr("malformed"));
}

TEST_F(LibraryCheckTest, NeverReadsOutsideACutFile) {
  for (size_t size = 0; size < good_.size(); size += 97) {
    bytes_ = good_.substr(0, size);
    const std::string copy(bytes_);  // exact size, so that a sanitizer sees a read beyond it
    try {
      check_library(copy, true);
    } catch (const Refusal& refusal) {
      EXPECT_FALSE(refusal.failure.text.empty());
    }
  }
}

TEST_F(LibraryCheckTest, NeverReadsOutsideWhereANumberIsSpoilt) {
  const size_t end = segment(PT_DYNAMIC)->p_offset + segment(PT_DYNAMIC)->p_filesz;
  const auto spoil = [&](size_t at) {
    bytes_ = good_;
    std::memset(bytes_.data() + at, 0xee, 8);
    try {
      check_library(bytes_, true);
    } catch (const Refusal& refusal) {
      EXPECT_FALSE(refusal.failure.text.empty());
    }
  };
  for (size_t at = 0; at < 0x600; at += 8) spoil(at);
  for (size_t at = segment(PT_DYNAMIC)->p_offset; at + 8 <= end; at += 8) spoil(at);
}

}  // namespace
}  // namespace ww::build
