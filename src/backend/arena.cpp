#include "backend/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace assay::backend {
namespace {

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::int64_t aligned(std::int64_t floats) {
  constexpr std::int64_t kFloats = kArenaAlignment / sizeof(float);
  return (floats + kFloats - 1) / kFloats * kFloats;
}

/// The start of the smallest gap of at least `floats` between the places in `taken` (ascending).
std::int64_t best_gap(const std::vector<std::pair<std::int64_t, std::int64_t>>& taken,
                      std::int64_t floats) {
  std::int64_t best = -1;
  std::int64_t best_size = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const auto& [begin, finish] : taken) {
    const std::int64_t gap = begin - end;
    if (gap >= floats && gap < best_size) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, finish);
  }
  return best >= 0 ? best : end;
}

}  // namespace

ArenaPlan plan_arena(std::span<const Lifetime> blocks) {
  ArenaPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].last >= blocks[i].first) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks[a].floats > blocks[b].floats;
  });
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const std::size_t other : placed) {
      if (overlap(blocks[i], blocks[other])) {
        taken.emplace_back(plan.offsets[other],
                           plan.offsets[other] + aligned(blocks[other].floats));
      }
    }
    std::sort(taken.begin(), taken.end());
    plan.offsets[i] = best_gap(taken, aligned(blocks[i].floats));
    plan.floats = std::max(plan.floats, plan.offsets[i] + aligned(blocks[i].floats));
    placed.push_back(i);
  }
  return plan;
}

}  // namespace assay::backend
