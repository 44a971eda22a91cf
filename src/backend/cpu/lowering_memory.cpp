/// What a lowering decides about memory: what may be written over, and where each block lies.
#include <algorithm>

#include "backend/arena.h"
#include "backend/cpu/lowering.h"
#include "backend/cpu/margin.h"

namespace assay::backend::cpu {

static_assert(kArenaAlignment == kAlignment, "a session's arena is one aligned buffer");

bool Lowering::dies_here(int block) const {
  for (graph::ValueId value = 0; value < program_.places.size(); ++value) {
    if (program_.places[value].block != block) continue;
    const bool output = std::ranges::any_of(
        graph_.outputs, [value](const graph::Output& o) { return o.value == value; });
    if (output || (!readers_[value].empty() && readers_[value].back() > node_index_)) return false;
  }
  return true;
}

bool Lowering::reuse(const graph::Node& node, graph::ValueId input) {
  const Wish& wish = wishes_[node.output];
  if (!fused_ || wish.whole != graph::kNone || wish.margin != std::array<std::int64_t, 2>{0, 0}) {
    return false;
  }
  if (graph_.value(input).constant || dims(input) != dims(node.output)) return false;
  const Place place = place_of(input);
  const std::int64_t floats = program_.blocks[static_cast<std::size_t>(place.block)].floats;
  if (!place.dense() || place.count() != floats || !dies_here(place.block)) return false;
  // What the node reads elsewhere in the block would be overwritten under its hands.
  for (const graph::ValueId other : node.inputs) {
    if (other != graph::kNone && other != input && program_.places[other].block == place.block) {
      return false;
    }
  }
  set_place(node.output, place);
  return true;
}

/// The arena's places are shared over time, so a margin is zeroed in every run: by the first step
/// that touches the block, whose own writes lie elsewhere.
void Lowering::zero_margins() {
  for (const Place& place : margins_) {
    const auto first = std::ranges::find_if(program_.steps, [&](const Step& step) {
      return std::ranges::find(step.blocks, place.block) != step.blocks.end();
    });
    if (first == program_.steps.end()) continue;
    first->body = [place, body = std::move(first->body)](const RunContext& context, Worker worker) {
      zero_margin(place, context.write(place),
                  share(place.lines() + 2 * place.margin_height, worker));
      body(context, worker);
    };
  }
}

void Lowering::plan_memory() {
  const int steps = static_cast<int>(program_.steps.size());
  std::vector<Lifetime> lifetimes(program_.blocks.size());
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    lifetimes[i] = {program_.blocks[i].floats, steps, -1};
  }
  for (int i = 0; i < steps; ++i) {
    const Step& step = program_.steps[static_cast<std::size_t>(i)];
    program_.scratch_floats = std::max(program_.scratch_floats, step.scratch);
    for (const int block : step.blocks) {
      Lifetime& lifetime = lifetimes[static_cast<std::size_t>(block)];
      lifetime.first = std::min(lifetime.first, i);
      lifetime.last = std::max(lifetime.last, i);
    }
  }
  for (const graph::Output& output : graph_.outputs) {
    lifetimes[static_cast<std::size_t>(place_of(output.value).block)].last = steps;
  }
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (program_.blocks[i].constant != nullptr) lifetimes[i].last = -1;
  }
  const ArenaPlan plan = plan_arena(lifetimes);
  program_.arena_floats = plan.floats;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    program_.blocks[i].arena_offset = plan.offsets[i];
  }
}

}  // namespace assay::backend::cpu
