// SPDX-License-Identifier: Apache-2.0
#include "build/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ww::build {
namespace {

using ::testing::HasSubstr;

constexpr size_t kMany = 1'000'000;

TEST(Shorten, KeepsAShortErrorAsItIs) {
  const std::string output =
      "kernels/a.cpp: In function 'int f()':\nkernels/a.cpp:3:1: error: expected ';'\n    3 | }\n      | ^\n";
  const Diagnostics found = shorten(output, false, 1000, kMany);
  EXPECT_EQ(found.text, output);
  EXPECT_EQ(found.errors, 1u);
}

TEST(Shorten, LeavesOutWarningsWithTheirExcerptsAndNotes) {
  const Diagnostics found = shorten(
      "kernels/a.cpp:1:2: warning: unused\n    1 | x\nkernels/a.cpp:1:2: note: declared here\nkernels/a.cpp:9:1: "
      "error: no\n",
      false, 1000, kMany);
  EXPECT_EQ(found.text, "kernels/a.cpp:9:1: error: no\n");
}

TEST(Shorten, MakesTenMegabytesShortAndCountsTheErrors) {
  std::string output;
  while (output.size() < 10u << 20) output += "kernels/a.cpp:3:1: error: " + std::string(900, 'x') + "\n";
  const size_t errors = output.size() / 927;
  const Diagnostics found = shorten(output, false, 2000, kMany);
  EXPECT_LT(found.text.size(), 2100u);
  EXPECT_EQ(found.errors, errors);
  EXPECT_THAT(found.text, HasSubstr(std::to_string(errors) + " errors in all"));
  EXPECT_THAT(shorten(output, true, 2000, kMany).text, HasSubstr("at least"));
  EXPECT_THAT(shorten(output, false, 2000, errors).text, HasSubstr("at least"));
}

TEST(Shorten, KeepsSecondErrorsRatherThanEndlessNotes) {
  std::string output = "kernels/a.cpp:1:1: error: first\n";
  for (int i = 0; i < 100; i++) output += "kernels/a.cpp:1:1: note: candidate\n";
  output += "kernels/a.cpp:2:1: error: second\n";
  EXPECT_THAT(shorten(output, false, 1000, kMany).text, HasSubstr("error: second"));
}

TEST(Shorten, CountsLinkErrors) {
  EXPECT_EQ(shorten("/usr/bin/ld: out/0.o: in function `f':\nkernels/a.cpp:(.text+0x1): undefined reference to `g'\n",
                    false, 1000, kMany)
                .errors,
            1u);
}

TEST(Printable, ReplacesBytesThatAreNoTextOrMoveTheTerminal) {
  EXPECT_EQ(printable("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable("\x1b[2Jx\r\x7f"), "?[2Jx??");
  EXPECT_EQ(printable("\xff\xc3\xa4\xc3"), "?\xc3\xa4?");
  EXPECT_EQ(printable("\xc2\x9b!"), "?!");
  std::string all;
  for (int i = 0; i < 256; i++) all += static_cast<char>(i);
  EXPECT_TRUE(is_utf8(printable(all)));
}

}  // namespace
}  // namespace ww::build
