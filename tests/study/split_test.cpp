#include "study/split.h"

#include <gtest/gtest.h>

#include "assay/error.h"

namespace assay::study {
namespace {

using Positions = std::vector<std::uint64_t>;

TEST(Split, HeldOutLeavesOutWhatCalibrates) {
  const Split parts = split(10, {.stride = 4}, {.stride = 2});
  EXPECT_EQ(parts.calibration, (Positions{0, 4, 8}));
  EXPECT_EQ(parts.held_out, (Positions{2, 6}));
  EXPECT_EQ(parts.excluded, 3U);
  EXPECT_TRUE(disjoint(parts.calibration, parts.held_out));
}

TEST(Split, TakesOffsetAndLimit) {
  const Split parts =
      split(100, {.stride = 20, .limit = 2}, {.stride = 1, .offset = 18, .limit = 4});
  EXPECT_EQ(parts.calibration, (Positions{0, 20}));
  EXPECT_EQ(parts.held_out, (Positions{18, 19, 21}));
  EXPECT_EQ(parts.excluded, 1U);
}

TEST(Split, RefusesAPartWithoutImages) {
  EXPECT_THROW(static_cast<void>(split(10, {.offset = 10}, {})), Error);
  EXPECT_THROW(static_cast<void>(split(10, {}, {})), Error);
}

TEST(Split, DisjointSeesOneSharedPosition) {
  EXPECT_FALSE(disjoint(Positions{1, 5, 9}, Positions{0, 2, 9}));
  EXPECT_TRUE(disjoint(Positions{1, 5, 9}, Positions{0, 2, 10}));
  EXPECT_TRUE(disjoint(Positions{}, Positions{1}));
}

TEST(Split, SpreadsEvenly) {
  const Positions positions{10, 11, 12, 13, 14, 15, 16, 17};
  EXPECT_EQ(spread(positions, 4), (Positions{10, 12, 14, 16}));
  EXPECT_EQ(spread(positions, 100), positions);
  EXPECT_EQ(spread(positions, 1), (Positions{10}));
}

}  // namespace
}  // namespace assay::study
