#pragma once
/// What a plan is made of: steps, each one instruction once it is known where memory lies.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/constants.h"
#include "backend/cuda/kernels/instruction.h"
#include "backend/cuda/place.h"
#include "backend/cuda/product_step.h"

namespace assay::backend::cuda {

/// Where a session's memory and its plan's constants lie on the device.
struct Addresses {
  std::span<const Block> blocks;
  std::byte* arena = nullptr;
  std::byte* constants = nullptr;
  int max_batch = 1;

  [[nodiscard]] View view(const Place& place) const {
    View view;
    if (place.block < 0) return view;
    const Block& block = blocks[static_cast<std::size_t>(place.block)];
    std::byte* const start =
        block.constant ? constants + block.offset : arena + block.offset * max_batch;
    view.data = start + place.offset * bytes_of(block.store);
    view.image_stride = block.constant ? 0 : block.bytes() / bytes_of(block.store);
    view.row_stride = static_cast<std::int32_t>(place.row_stride);
    view.store = block.store;
    return view;
  }
  template <typename T = float>
  [[nodiscard]] const T* kept(const Kept& numbers) const {
    return numbers.offset < 0 ? nullptr : reinterpret_cast<const T*>(constants + numbers.offset);
  }
};

struct ChainPlan;

struct Step {
  StepInfo info;
  std::function<Instruction(const Addresses& at)> instruction;
  std::optional<ProductStep> product;      ///< where the step is one that may join a chain
  std::optional<AttentionStep> attention;  ///< the same
  std::shared_ptr<ChainPlan> chain;        ///< where the step is several
  std::vector<Place> reads;
  std::vector<Place> writes;
  std::size_t order = 0;  ///< when it was added
  int phase = 0;
  std::vector<graph::ValueId> materialized;  ///< values that are complete after it
};

/// Whether `later` must not begin before `earlier` is done.
bool depends(const Step& later, const Step& earlier);

}  // namespace assay::backend::cuda
