#pragma once
/// Planning where in the arena each block lies.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::backend {

/// Alignment of every block in an arena, in bytes: one cache line, one AVX-512 register.
inline constexpr std::size_t kArenaAlignment = 64;

/// A block's size and the steps, first to last, between which its contents matter.
struct Lifetime {
  std::int64_t floats = 0;
  int first = 0;
  int last = -1;  ///< before `first` for a block that nothing uses
};

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  ///< in floats, one a block, aligned to kArenaAlignment
  std::int64_t floats = 0;            ///< in all
};

/// Gives blocks whose lifetimes overlap places that do not: the largest first, each into the
/// smallest gap that holds it ("greedy by size", Pisarchyk and Lee, arXiv 2001.03288).
ArenaPlan plan_arena(std::span<const Lifetime> blocks);

}  // namespace assay::backend
