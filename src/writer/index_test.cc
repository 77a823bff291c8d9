// SPDX-License-Identifier: Apache-2.0
#include "writer/index.h"

#include <gtest/gtest.h>

namespace ww::writer {
namespace {

const Index kI = Index::variable("i", 0, 7);   // extent 8
const Index kJ = Index::variable("j", 0, 11);  // extent 12

TEST(Index, AReshapeThereAndBackIsNothing) {
  const Indices there = unflatten(flatten({kI, kJ}, {8, 12}), {4, 24});
  EXPECT_EQ(flatten(there, {4, 24}).text(), "i * 12 + j");
}

TEST(Index, SplittingADimensionAlongAFactorLeavesNoDivision) {
  const Indices split = unflatten(flatten({kI, kJ}, {8, 12}), {2, 4, 12});
  EXPECT_EQ(split[0].text(), "(i / 4)");
  EXPECT_EQ(split[1].text(), "(i % 4)");
  EXPECT_EQ(split[2].text(), "j");
}

TEST(Index, MultiplesOfTheDivisorComeOut) {
  EXPECT_EQ(quotient(kI * 12 + kJ, 12).text(), "i");
  EXPECT_EQ(remainder(kI * 12 + kJ, 12).text(), "j");
  EXPECT_EQ(quotient(kI * 12 + kJ + 24, 12).text(), "i + 2");
}

TEST(Index, ARangeThatDoesNotFitStaysADivision) {
  EXPECT_EQ(quotient(kJ, 5).text(), "(j / 5)");
  EXPECT_TRUE(quotient(kJ, 5).compound());
  EXPECT_EQ(quotient(kJ, 5).split_wish(), (std::pair<std::string, int64_t>("j", 5)));
}

TEST(Index, SubstitutionSimplifiesAgain) {
  const Index whole = quotient(kJ, 4) * 8 + remainder(kJ, 4);
  const Index high = Index::variable("h", 0, 2), low = Index::variable("l", 0, 3);
  EXPECT_EQ(whole.substitute({{"j", high * 4 + low}}).text(), "h * 8 + l");
}

TEST(Index, KnowsItsRange) {
  const Index index = kI * 2 + kJ * -1 + 3;
  EXPECT_EQ(index.low(), -8);
  EXPECT_EQ(index.high(), 17);
  EXPECT_EQ(remainder(kJ, 5).high(), 4);
}

// The one thing that matters: simplified or not, the value is that of plain arithmetic.
TEST(Index, ValuesAgreeWithPlainArithmeticOverAllPositions) {
  const Indices at = unflatten(flatten({kI, kJ}, {8, 12}), {3, 2, 16});
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t j = 0; j < 12; ++j) {
      const std::map<std::string, Index> here{{"i", i}, {"j", j}};
      const int64_t flat = i * 12 + j;
      EXPECT_EQ(at[0].substitute(here).constant(), flat / 32);
      EXPECT_EQ(at[1].substitute(here).constant(), flat / 16 % 2);
      EXPECT_EQ(at[2].substitute(here).constant(), flat % 16);
    }
  }
}

}  // namespace
}  // namespace ww::writer
