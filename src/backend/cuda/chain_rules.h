#pragma once
/// Which steps chains can have, by their formats and how their rows lie.
#include <optional>
#include <span>

#include "backend/cuda/step.h"

namespace assay::backend::cuda {

/// Whether both are the same rows in memory. What works row by row need not know of maps.
bool same_rows(const Place& a, const Place& b);

/// Which row of `whole` is the first that `p` reads, if it reads all from there on.
std::optional<int> first_row(const ProductStep& p, const Place& whole);

class ChainRules {
 public:
  /// The program's blocks outlive it, and may become more.
  explicit ChainRules(const std::vector<Block>& blocks) : blocks_(blocks) {}

  /// A product whose rows another member leaves in shared memory.
  [[nodiscard]] bool can_join(const Step& step) const;
  /// A product that reads its rows from memory.
  [[nodiscard]] bool can_begin(const Step& step) const;
  [[nodiscard]] bool can_attend(const AttentionStep& step) const;

 private:
  [[nodiscard]] const Block& block_of(const Place& place) const {
    return blocks_[static_cast<std::size_t>(place.block)];
  }
  [[nodiscard]] bool octets(const Place& place) const;
  [[nodiscard]] bool quads(const Place& place) const;

  const std::vector<Block>& blocks_;
};

}  // namespace assay::backend::cuda
