#pragma once
/// How a chain is cut into tiles and clusters, and what lies where in shared memory.
#include <array>

#include "backend/cuda/chains.h"

namespace assay::backend::cuda {

/// What a layout can be made of.
inline constexpr std::array<int, 4> kClusters{1, 2, 4, 8};
inline constexpr std::array<int, 3> kTileRows{16, 32, 64};
inline constexpr int kFewestRows = kTileRows.front();

/// Fills `plan.chain` but for its pointers. False where `tile_rows` rows and a cluster of `cluster`
/// blocks need more shared memory than a block has.
bool lay_out(ChainPlan& plan, int tile_rows, int cluster);

/// What a call takes, in clock cycles and round: good for comparing layouts of one chain.
double estimated_cycles(const Chain& chain, int batch, int blocks_at_once);

/// Keeps weights and constants of a chain that is laid out.
void pack(const graph::Graph& graph, ConstantPool& pool, ChainPlan& plan);

}  // namespace assay::backend::cuda
