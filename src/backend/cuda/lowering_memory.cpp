/// What a lowering decides about time and memory: which steps may run side by side, and where each
/// block lies.
#include <algorithm>

#include "backend/arena.h"
#include "backend/cuda/chains.h"
#include "backend/cuda/lowering.h"

namespace assay::backend::cuda {
namespace {

bool any_overlap(const std::vector<Place>& some, const std::vector<Place>& others) {
  return std::ranges::any_of(some, [&](const Place& place) {
    return std::ranges::any_of(others, [&](const Place& other) { return overlap(place, other); });
  });
}

/// Whether what the step does of the first `count` steps, as they were added, writes to `place`.
bool writes_before(const Step& step, const Place& place, std::size_t count) {
  if (step.chain == nullptr) return step.order < count && any_overlap(step.writes, {place});
  return std::ranges::any_of(step.chain->members, [&](const ChainMember& member) {
    return member.writes && writes_before(member.step, place, count);
  });
}

}  // namespace

bool depends(const Step& later, const Step& earlier) {
  return any_overlap(earlier.writes, later.reads) || any_overlap(earlier.writes, later.writes) ||
         any_overlap(earlier.reads, later.writes);
}

void Lowering::plan_phases() {
  std::vector<Step>& steps = program_.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (steps[j].phase >= steps[i].phase && depends(steps[i], steps[j])) {
        steps[i].phase = steps[j].phase + 1;
      }
    }
    program_.phases = std::max(program_.phases, steps[i].phase + 1);
  }
  find_materialized();
  std::ranges::stable_sort(steps, {}, &Step::phase);
}

/// A value is complete when all that wrote some of it before its node's turn has run: a view when
/// its input is, a concatenation with its last part.
void Lowering::find_materialized() {
  for (const auto& [value, count] : lowered_) {
    const Place& place = program_.places[value];
    Step* last = nullptr;
    for (Step& step : program_.steps) {
      if (writes_before(step, place, count) && (last == nullptr || step.phase >= last->phase)) {
        last = &step;
      }
    }
    if (last != nullptr) last->materialized.push_back(value);
  }
}

/// Blocks that some phase uses both of lie apart, so that its steps may run side by side.
void Lowering::plan_memory() {
  std::vector<Block>& blocks = program_.blocks;
  std::vector<Lifetime> lifetimes(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    lifetimes[i] = {blocks[i].bytes() / static_cast<std::int64_t>(sizeof(float)), program_.phases,
                    -1};
  }
  const auto use = [&](const Place& place, int phase) {
    if (place.block < 0) return;
    Lifetime& lifetime = lifetimes[static_cast<std::size_t>(place.block)];
    lifetime.first = std::min(lifetime.first, phase);
    lifetime.last = std::max(lifetime.last, phase);
  };
  for (const Step& step : program_.steps) {
    for (const Place& place : step.reads) use(place, step.phase);
    for (const Place& place : step.writes) use(place, step.phase);
  }
  for (const auto& [name, place] : program_.outputs) use(place, program_.phases);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].constant) lifetimes[i].last = -1;
  }
  const ArenaPlan plan = plan_arena(lifetimes);
  program_.arena_bytes = plan.floats * static_cast<std::int64_t>(sizeof(float));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].constant) {
      blocks[i].offset = plan.offsets[i] * static_cast<std::int64_t>(sizeof(float));
    }
  }
}

}  // namespace assay::backend::cuda
