#pragma once
/// The first operand of a product, with all that the product computes of it itself.
#include <optional>
#include <vector>

#include "backend/cuda/lowering.h"

namespace assay::backend::cuda {

struct Operand {
  Source source = Source::rows;
  Place a;
  Place first;                        ///< block -1: none; else the row in front of those of `a`
  const graph::Node* norm = nullptr;  ///< the LayerNorm of rows
  const graph::Node* depthwise =
      nullptr;          ///< the convolution, channel by channel, of the image `a`
  Act act = Act::none;  ///< behind either
  std::vector<const graph::Node*> folded;  ///< nodes that are no steps for this

  [[nodiscard]] std::int64_t rows() const { return a.rows + (first.block >= 0 ? 1 : 0); }
};

/// `value` as a product reads it. What can't be folded in is computed first.
Operand operand_of(Lowering& lowering, graph::ValueId value, const graph::Node& reader);

}  // namespace assay::backend::cuda
