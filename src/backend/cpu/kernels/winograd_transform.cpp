#include "backend/cpu/kernels/winograd_transform.h"

#include <algorithm>
#include <array>

// The choice of targets comes before anything of Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/winograd_transform.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/tile_activation-inl.h"
#include "backend/cpu/kernels/winograd_transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = WinogradTag;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

/// Calls `function(channel, access)` for each vector of channels [begin, end).
template <class Function>
HWY_INLINE void for_channels(std::int64_t begin, std::int64_t end, const Function& function) {
  std::int64_t channel = begin;
  for (; channel + kLanes <= end; channel += kLanes) function(channel, Whole());
  if (channel < end) function(channel, Partial{end - channel});
}

/// The upper left pixel of a tile's outputs.
struct Corner {
  std::int64_t y, x;
};
template <class F>
Corner corner_of(const WinogradArgs& args, std::int64_t tile) {
  const std::int64_t across = (args.width + F::kOut - 1) / F::kOut;
  return {tile / across * F::kOut, tile % across * F::kOut};
}

template <class F>
void transform_input(const WinogradArgs& args, std::int64_t channels, const TileBlock& block) {
  std::array<const float*, F::kIn * F::kIn> pixels;
  for (std::int64_t t = 0; t < block.count; ++t) {
    const Corner corner = corner_of<F>(args, block.first + t);
    for (int i = 0; i < F::kIn * F::kIn; ++i) {
      const std::int64_t y = corner.y - 1 + i / F::kIn;
      const std::int64_t x = corner.x - 1 + i % F::kIn;
      const bool inside = y >= 0 && y < args.height && x >= 0 && x < args.width;
      pixels[static_cast<std::size_t>(i)] =
          inside ? args.x + y * args.x_line + x * args.x_row : block.zeros;
    }
    float* const points = block.input + t * channels;
    for_channels(0, channels, [&](std::int64_t channel, auto access) HWY_ATTR {
      input_tile<F>(pixels.data(), channel, access, points, block.input_stride);
    });
  }
}

/// Residual and store of one tile's outputs, as far as they lie in the image.
template <class F, class Access>
HWY_INLINE void store_tile(const WinogradArgs& args, const Corner& corner, std::int64_t channel,
                           const float* HWY_RESTRICT tile, Access access) {
  const Tag d;
  const std::int64_t rows = std::min<std::int64_t>(F::kOut, args.height - corner.y);
  const std::int64_t columns = std::min<std::int64_t>(F::kOut, args.width - corner.x);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t y = corner.y + i;
      const std::int64_t x = corner.x + j;
      auto out = hn::Load(d, tile + (i * F::kOut + j) * kLanes);
      if (args.residual != nullptr) {
        const float* const residual =
            args.residual + y * args.residual_line + x * args.residual_row + channel;
        out = hn::Add(out, access.load(d, residual));
      }
      access.store(d, out, args.y + y * args.y_line + x * args.y_row + channel);
    }
  }
}

template <class F>
void transform_output(const WinogradArgs& args, const TileBlock& block) {
  const Tag d;
  constexpr int kCount = F::kOut * F::kOut;
  constexpr int kRoom = (kCount + kAbreast - 1) / kAbreast * kAbreast;
  HWY_ALIGN float tile[kRoom * kLanes] = {};
  for (std::int64_t t = 0; t < block.count; ++t) {
    const Corner corner = corner_of<F>(args, block.first + t);
    const float* const points = block.output + t * block.output_row;
    for_channels(
        block.column_begin, block.column_end, [&](std::int64_t channel, auto access) HWY_ATTR {
          const auto bias = access.load(d, args.bias + channel);
          output_tile<F>(points, block.output_stride, channel, bias, access, tile);
          if (args.activation == graph::Activation::silu) {
            for_groups(d, tile, kCount, [d](Abreast<Tag>& x) HWY_ATTR { silu_abreast(d, x); });
          } else if (args.activation == graph::Activation::gelu) {
            for_groups(d, tile, kCount, [d](Abreast<Tag>& x) HWY_ATTR { gelu_abreast(d, x); });
          }
          store_tile<F>(args, corner, channel, tile, access);
        });
  }
}

void to_points(int outputs, const WinogradArgs& args, std::int64_t channels,
               const TileBlock& block) {
  outputs == 2 ? transform_input<F2>(args, channels, block)
               : transform_input<F4>(args, channels, block);
}
void from_points(int outputs, const WinogradArgs& args, const TileBlock& block) {
  outputs == 2 ? transform_output<F2>(args, block) : transform_output<F4>(args, block);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(to_points);
HWY_EXPORT(from_points);

void winograd_to_points(int outputs, const WinogradArgs& args, std::int64_t channels,
                        const TileBlock& block) {
  HWY_DYNAMIC_DISPATCH(to_points)(outputs, args, channels, block);
}
void winograd_from_points(int outputs, const WinogradArgs& args, const TileBlock& block) {
  HWY_DYNAMIC_DISPATCH(from_points)(outputs, args, block);
}

}  // namespace assay::backend::cpu
#endif
