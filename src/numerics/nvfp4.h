#pragma once
/// NVFP4: E2M1 numbers in blocks of 16, each with an E4M3 scale, and one fp32 scale for all blocks:
/// number = tensor scale × block scale × code. As NVIDIA's Blackwell architecture has it; a block
/// may be short, and what is not there never enters a scale.
#include <span>

#include "numerics/e2m1.h"
#include "numerics/e4m3.h"

namespace assay::numerics {

struct Nvfp4 {
  static constexpr int kBlock = 16;

  /// amax / (448 × 6): the block with the largest number gets the largest scale. 1 where that
  /// would be 0 or have no inverse.
  static float tensor_scale(float amax);

  /// E4M3(amax / 6 / tensor scale) of the block's largest magnitude; 0 for a block so small.
  static E4m3::Code block_scale(std::span<const float> block, float tensor_scale);

  /// The nearest code of each number, ties to the even one; saturates. With a block scale of 0 all
  /// are 0. `codes` is as long as `block`.
  static void encode(std::span<const float> block, E4m3::Code block_scale, float tensor_scale,
                     std::span<E2m1::Code> codes);

  /// One number back, the scales multiplied first, in fp32.
  static float decode(E2m1::Code code, E4m3::Code block_scale, float tensor_scale) {
    return E2m1::decode(code) * (E4m3::decode(block_scale) * tensor_scale);
  }
};

}  // namespace assay::numerics
