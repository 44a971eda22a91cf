/// Which layout each chain of a program gets.
#include <algorithm>
#include <array>
#include <limits>

#include "backend/cuda/chain_layout.h"
#include "base/error.h"

namespace assay::backend::cuda {
namespace {

/// Blocks that run at once where each has a multiprocessor of its own. Clusters lie within groups
/// of 16 or 18 multiprocessors, so that some are left over: cudaOccupancyMaxActiveClusters says 30
/// clusters of 4 and 15 of 8 on an H200.
int blocks_at_once(int cluster) { return cluster >= 4 ? 120 : 132; }

struct Choice {
  int tile_rows = 0;
  double cycles = std::numeric_limits<double>::infinity();
};

/// The best height of tiles for a chain that may have `blocks` multiprocessors.
Choice best_rows(ChainPlan& plan, int cluster, int batch, int blocks) {
  Choice best;
  for (const int rows : kTileRows) {
    if (!lay_out(plan, rows, cluster)) continue;
    const double cycles = estimated_cycles(plan.chain, batch, blocks);
    if (cycles < best.cycles) best = {rows, cycles};
  }
  return best;
}

/// Chains of one phase run side by side, in clusters of one size: the best for the slowest of them.
void choose(const std::vector<ChainPlan*>& chains, int batch) {
  const int share = static_cast<int>(chains.size());
  double best = std::numeric_limits<double>::infinity();
  int best_cluster = 0;
  for (const int cluster : kClusters) {
    double slowest = 0;
    for (ChainPlan* const chain : chains) {
      slowest = std::max(slowest,
                         best_rows(*chain, cluster, batch, blocks_at_once(cluster) / share).cycles);
    }
    if (slowest < best) {
      best = slowest;
      best_cluster = cluster;
    }
  }
  if (best_cluster == 0 && chains.size() > 1) {
    for (ChainPlan* const chain : chains) choose({chain}, batch);  // one after the other
    return;
  }
  for (ChainPlan* const chain : chains) {
    if (best_cluster == 0) {
      fail(ErrorKind::internal, "the chain at '{}' fits no layout",
           chain->members.front().step.info.name);
    }
    const int blocks = blocks_at_once(best_cluster) / share;
    lay_out(*chain, best_rows(*chain, best_cluster, batch, blocks).tile_rows, best_cluster);
  }
}

}  // namespace

Instruction ChainPlan::at(const Addresses& at) const {
  Chain now = chain;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Step& step = members[i].step;
    ChainStage& s = now.stages[i];
    if (step.attention) {
      now.attention.q = at.view(step.attention->q);
      now.attention.k = at.view(step.attention->k);
      now.attention.v = at.view(step.attention->v);
      continue;
    }
    s.residual = at.view(step.product->residual);
    s.view = at.view(step.product->out);
  }
  if (members.front().step.product) now.a = at.view(members.front().step.product->a);
  now.weights = at.kept<std::byte>(weights);
  now.constants = at.kept<std::byte>(constants);
  return Instruction(now);
}

void finish_chains(const graph::Graph& graph, int max_batch, Program& program) {
  std::map<int, std::vector<ChainPlan*>> phases;
  for (const Step& step : program.steps) {
    if (step.chain != nullptr) phases[step.phase].push_back(step.chain.get());
  }
  for (auto& [phase, chains] : phases) {
    // In pairs from the front, as a launch takes them.
    for (std::size_t first = 0; first < chains.size(); first += kMostChains) {
      const auto begin = chains.begin() + static_cast<std::ptrdiff_t>(first);
      const auto count = std::min<std::size_t>(kMostChains, chains.size() - first);
      choose({begin, begin + static_cast<std::ptrdiff_t>(count)}, max_batch);
    }
  }
  for (Step& step : program.steps) {
    if (step.chain == nullptr) continue;
    pack(graph, program.constants, *step.chain);
    step.instruction = [plan = step.chain](const Addresses& at) { return plan->at(at); };
  }
}

}  // namespace assay::backend::cuda
