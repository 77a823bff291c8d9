// SPDX-License-Identifier: Apache-2.0
#include "cli/lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/fd.h"

namespace ww::cli {
namespace {

std::vector<Lines::Line> lines_of(const std::string& bytes, size_t step) {
  Pipe pipe = make_pipe();
  std::thread writer([&] {
    for (size_t i = 0; i < bytes.size(); i += step)
      ASSERT_GT(::write(pipe.write.get(), bytes.data() + i, std::min(step, bytes.size() - i)), 0);
    pipe.write.reset();
  });
  Lines lines(pipe.read.get());
  std::vector<Lines::Line> all;
  while (const auto line = lines.next()) all.push_back(*line);
  writer.join();
  return all;
}

TEST(Lines, EndsMarksAndPiecesMakeNoDifference) {
  for (const size_t step : {1u, 3u, 1000u}) {
    const auto lines = lines_of("\xef\xbb\xbfone\r\n\ntwo\nthree", step);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[0].text, "one");
    EXPECT_EQ(lines[1].text, "");
    EXPECT_EQ(lines[2].text, "two");
    EXPECT_FALSE(lines[2].cut);
    EXPECT_EQ(lines[3].text, "three");
    EXPECT_TRUE(lines[3].cut);
  }
  EXPECT_TRUE(lines_of("", 1).empty());
}

TEST(Lines, ALineBeyondTheLimitIsSkippedAndTheNextIsRead) {
  for (const size_t size : {kLongestLine + 1, 3 * kLongestLine}) {
    const auto lines = lines_of(std::string(size, 'x') + "\nnext\n", 100'000);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_TRUE(lines[0].too_long);
    EXPECT_TRUE(lines[0].text.empty());
    EXPECT_EQ(lines[1].text, "next");
    EXPECT_FALSE(lines[1].too_long);
  }
  EXPECT_EQ(lines_of(std::string(kLongestLine, 'x') + "\n", 100'000).front().text.size(), kLongestLine);
}

}  // namespace
}  // namespace ww::cli
