#include "backend/cpu/kernels/narrow_depthwise.h"

#include <algorithm>
#include <cstring>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/narrow_depthwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/narrow_convert-inl.h"
#include "backend/cpu/kernels/narrow_tile_activation-inl.h"
#include "backend/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
constexpr int kTaps = 3;
/// Pixels that share their inputs' loads, and whose activations run side by side.
constexpr int kWide = 4;

/// Channels from `channel` on: how many there are, for the cut-short vector at the end.
struct Channels {
  std::int64_t first;
  std::int64_t count;
};

/// The lanes of one pixel; rows are padded to 64 bytes, so a whole vector can always be read.
HWY_INLINE Vector load(const std::byte* pixel) {
  const Tag d;
  const hn::Rebind<std::uint16_t, Tag> half;
  const hn::RebindToUnsigned<Tag> du;
  const auto codes = hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(pixel));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, codes)));
}

/// Writes lanes as operands of the next product.
template <bool kBytes>
HWY_INLINE void store(const NarrowDepthwiseArgs& args, Vector x, std::int64_t row,
                      const Channels& channels) {
  const Tag d;
  std::byte* const to = args.y + row * args.next->row_bytes();
  if (channels.count < kLanes) {
    x = hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(channels.count)), x);
  }
  if constexpr (kBytes) {
    StoreU8(d, x, args.next->input, to + channels.first);
  } else {
    StoreBf16(d, x, to + 2 * channels.first);
  }
}

template <int kColumns>
HWY_INLINE void activate(graph::Activation activation, Side<Tag, kColumns>& sums) {
  if (activation == graph::Activation::silu) short_silu(Tag(), sums);
  if (activation == graph::Activation::gelu) short_gelu(Tag(), sums);
}

/// Output pixels [column, column + kColumns) of `row`, one vector of channels; taps [begin, end) of
/// each line are inside the image.
template <int kColumns, int kStride, bool kBytes>
HWY_INLINE void filter(const NarrowDepthwiseArgs& args, std::int64_t row, std::int64_t column,
                       const Channels& channels, int begin, int end) {
  const Tag d;
  const auto weights = [&](int line, int tap) HWY_ATTR {
    const float* const w = args.weight + (line * kTaps + tap) * args.channels + channels.first;
    return channels.count < kLanes ? LoadPartial(d, w, channels.count) : hn::LoadU(d, w);
  };
  Vector bias = hn::Zero(d);
  if (args.bias != nullptr) {
    const float* const from = args.bias + channels.first;
    bias = channels.count < kLanes ? LoadPartial(d, from, channels.count) : hn::LoadU(d, from);
  }
  Side<Tag, kColumns> sums;
  sums.each([&](int) HWY_ATTR { return bias; });
  for (int line = 0; line < kTaps; ++line) {
    const std::byte* const x =
        args.x + 2 * channels.first +
        ((row * kStride + line) * args.in_width + column * kStride - 1) * args.x_pixel;
    const Vector w[kTaps] = {weights(line, 0), weights(line, 1), weights(line, 2)};
    if constexpr (kColumns == 1) {
      for (int tap = begin; tap < end; ++tap) {
        sums.at[0] = hn::MulAdd(load(x + tap * args.x_pixel), w[tap], sums.at[0]);
      }
    } else {
      constexpr int kInputs = (kColumns - 1) * kStride + kTaps;
#pragma GCC unroll 20
      for (int c = 0; c < kInputs; ++c) {
        const Vector value = load(x + c * args.x_pixel);
#pragma GCC unroll 3
        for (int tap = kTaps - 1; tap >= 0; --tap) {
          const int t = (c - tap) / kStride;
          if (c >= tap && (c - tap) % kStride == 0 && t < kColumns) {
            sums.at[t] = hn::MulAdd(value, w[tap], sums.at[t]);
          }
        }
      }
    }
  }
  activate(args.activation, sums);
#pragma GCC unroll 8
  for (int t = 0; t < kColumns; ++t) {
    store<kBytes>(args, sums.at[t], row * args.out_width + column + t, channels);
  }
}

template <int kColumns, int kStride, bool kBytes>
HWY_INLINE void filter_channels(const NarrowDepthwiseArgs& args, std::int64_t row,
                                std::int64_t column, int begin, int end) {
  for (std::int64_t c = 0; c < args.channels; c += kLanes) {
    filter<kColumns, kStride, kBytes>(args, row, column, {c, std::min(args.channels - c, kLanes)},
                                      begin, end);
  }
}

template <int kStride, bool kBytes>
void filter_rows(const NarrowDepthwiseArgs& args) {
  // Columns whose three taps are all inside: all but the first, and but the last where it reaches
  // over the edge.
  const std::int64_t inner = (args.in_width - 2) / kStride + 1;
  for (std::int64_t row = 0; row < args.rows; ++row) {
    const auto edge = [&](std::int64_t column) HWY_ATTR {
      const std::int64_t first = column * kStride - 1;
      const int end = static_cast<int>(std::min<std::int64_t>(kTaps, args.in_width - first));
      filter_channels<1, kStride, kBytes>(args, row, column, first < 0 ? 1 : 0, end);
    };
    std::int64_t column = 0;
    edge(column++);
    for (; column + kWide <= std::min(inner, args.out_width); column += kWide) {
      filter_channels<kWide, kStride, kBytes>(args, row, column, 0, kTaps);
    }
    for (; column < args.out_width; ++column) edge(column);
  }
}

void zero_padding(const NarrowDepthwiseArgs& args) {
  const std::int64_t row_bytes = args.next->row_bytes();
  const std::int64_t used =
      args.channels * (args.next->precision == graph::Precision::bf16 ? 2 : 1);
  if (used == row_bytes) return;
  for (std::int64_t row = 0; row < args.rows * args.out_width; ++row) {
    std::memset(args.y + row * row_bytes + used, 0, static_cast<std::size_t>(row_bytes - used));
  }
}

void run(const NarrowDepthwiseArgs& args) {
  const bool bytes = args.next->precision == graph::Precision::int8;
  if (args.stride == 1) {
    bytes ? filter_rows<1, true>(args) : filter_rows<1, false>(args);
  } else {
    bytes ? filter_rows<2, true>(args) : filter_rows<2, false>(args);
  }
  zero_padding(args);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(run);

void narrow_depthwise(const NarrowDepthwiseArgs& args) { HWY_DYNAMIC_DISPATCH(run)(args); }

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
