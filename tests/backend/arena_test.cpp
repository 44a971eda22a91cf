#include "backend/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace assay::backend {
namespace {

void expect_apart(std::span<const Lifetime> blocks, const ArenaPlan& plan) {
  constexpr std::int64_t kLine = kArenaAlignment / sizeof(float);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].last < blocks[i].first) continue;
    EXPECT_EQ(plan.offsets[i] % kLine, 0);
    EXPECT_LE(plan.offsets[i] + blocks[i].floats, plan.floats);
    for (std::size_t j = 0; j < i; ++j) {
      if (blocks[j].last < blocks[j].first) continue;
      const bool together = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
      const bool disjoint = plan.offsets[i] + blocks[i].floats <= plan.offsets[j] ||
                            plan.offsets[j] + blocks[j].floats <= plan.offsets[i];
      EXPECT_TRUE(!together || disjoint) << "blocks " << j << " and " << i;
    }
  }
}

TEST(Arena, BlocksThatLiveTogetherLieApart) {
  std::mt19937 generator(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> blocks;
    for (int i = 0; i < 40; ++i) {
      const int first = static_cast<int>(generator() % 60);
      blocks.push_back({static_cast<std::int64_t>(generator() % 5000), first,
                        first + static_cast<int>(generator() % 9) - 1});
    }
    expect_apart(blocks, plan_arena(blocks));
  }
}

TEST(Arena, AChainNeedsTwoBlocks) {
  std::vector<Lifetime> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back({1600, i, i + 1});
  EXPECT_EQ(plan_arena(blocks).floats, 3200);
}

TEST(Arena, TakesTheSmallestGapThatFits) {
  // While the last block lives, 64 floats are free between the first two and 32 between the next.
  const std::vector<Lifetime> blocks{{160, 0, 9}, {64, 0, 3},  {160, 0, 9},
                                     {32, 0, 3},  {160, 0, 9}, {32, 5, 9}};
  const ArenaPlan plan = plan_arena(blocks);
  expect_apart(blocks, plan);
  EXPECT_EQ(plan.floats, 160 * 3 + 64 + 32);
}

}  // namespace
}  // namespace assay::backend
