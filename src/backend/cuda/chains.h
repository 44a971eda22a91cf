#pragma once
/// Steps on the same rows, joined so that one kernel does them: see kernels/chain.h.
#include <memory>
#include <vector>

#include "backend/cuda/lowering.h"
#include "backend/cuda/step.h"

namespace assay::backend::cuda {

/// One step of a chain.
struct ChainMember {
  Step step;            ///< with a product or an attention
  bool reads = false;   ///< its rows are what an earlier member left in shared memory
  bool again = false;   ///< it reads the rows of the member before it once more, as they are by now
  bool shares = false;  ///< a later member reads its output there
  bool writes = false;  ///< somebody reads its output in memory
  int from = -1;        ///< where it `reads`: the member whose output that is
  int view_row = 0;     ///< as ChainStage's
};

/// A chain whose pointers are still places.
struct ChainPlan {
  std::vector<ChainMember> members;
  Chain chain;  ///< once it is laid out, all but the pointers
  Kept weights, constants;

  [[nodiscard]] Instruction at(const Addresses& at) const;
};

/// Joins what can be joined, in the order of `program.steps`. Steps must not have phases yet. The
/// blocks are `program`'s; new ones may be added.
void join_chains(int max_batch, Program& program);

/// Chooses tiles and clusters of the chains, once steps have phases, lays out their shared memory
/// and packs their weights.
void finish_chains(const graph::Graph& graph, int max_batch, Program& program);

}  // namespace assay::backend::cuda
