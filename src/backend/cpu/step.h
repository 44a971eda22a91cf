#pragma once
/// What a plan is made of: steps over blocks of memory, for one image.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/aligned_buffer.h"
#include "backend/cpu/place.h"

namespace assay::backend::cpu {

/// A piece of memory that values share: a region of a session's arena, or a constant of the plan.
struct Block {
  std::int64_t floats = 0;
  std::int64_t arena_offset = 0;    ///< in floats, once the memory is planned
  const float* constant = nullptr;  ///< not null: read-only, and not in the arena
};

/// What a step sees when it runs.
struct RunContext {
  std::span<const Block> blocks;
  float* arena = nullptr;
  float* scratch = nullptr;           ///< of this worker
  const std::uint8_t* rgb = nullptr;  ///< the image: pixels or numbers, the other is null
  const float* tensor = nullptr;

  [[nodiscard]] const float* read(const Place& place) const {
    const Block& block = blocks[static_cast<std::size_t>(place.block)];
    return (block.constant != nullptr ? block.constant : arena + block.arena_offset) + place.offset;
  }
  [[nodiscard]] float* write(const Place& place) const {
    return arena + blocks[static_cast<std::size_t>(place.block)].arena_offset + place.offset;
  }
};

/// Which share of a step's work to do.
struct Worker {
  int index = 0;
  int count = 1;
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// The worker's part of `count` equal pieces of work.
inline Range share(std::int64_t count, const Worker& worker) {
  return {count * worker.index / worker.count, count * (worker.index + 1) / worker.count};
}

/// Does a worker's share of a step. Every number written is the same whatever the shares.
using StepBody = std::function<void(const RunContext& context, const Worker& worker)>;

struct Step {
  StepInfo info;
  StepBody body;
  bool serial = false;                       ///< too small to share: worker 0 does it alone
  std::vector<int> blocks;                   ///< that it reads or writes
  std::int64_t scratch = 0;                  ///< floats that each worker needs
  std::vector<graph::ValueId> materialized;  ///< values that are complete after it
};

}  // namespace assay::backend::cpu
