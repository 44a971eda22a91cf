#include "backend/cpu/kernels/narrow_depthwise.h"

#include <algorithm>

#include "backend/cpu/kernels/narrow_block.h"

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/narrow_depthwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/narrow_tile_activation-inl.h"
#include "backend/cpu/kernels/narrow_write-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
constexpr int kTaps = 3;
/// Neighbouring pixels that share their inputs' loads.
constexpr int wide_of(int stride) { return kLanes < 16 ? 2 : stride == 1 ? 6 : 4; }
constexpr std::int64_t kHalf = kFilterGroup / 2;

/// What all pixels share.
struct Filter {
  const NarrowDepthwiseArgs& args;
  NarrowKernels kernels;
  std::int64_t channels;  ///< padded to groups

  explicit Filter(const NarrowDepthwiseArgs& a)
      : args(a),
        kernels(narrow_kernels()),
        channels((a.channels + kFilterGroup - 1) / kFilterGroup * kFilterGroup) {}
};

/// Two vectors of channels, half a group apart: neighbours in memory, so that one load and one
/// operation each give both.
struct Two {
  Vector lower;
  Vector upper;
};
HWY_INLINE Two load_pairs(const std::byte* pixel) {
  const Tag d;
  const hn::RebindToUnsigned<Tag> du;
  const auto pairs = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(pixel));
  return {hn::BitCast(d, hn::ShiftLeft<16>(pairs)),
          hn::BitCast(d, hn::And(pairs, hn::Set(du, 0xFFFF0000U)))};
}
HWY_INLINE Two load_group(const float* x) {
  const Tag d;
  return {hn::LoadU(d, x), hn::LoadU(d, x + kHalf)};
}

/// The sums of pixels [column, column + kColumns) of `row`, channels of the two vectors from
/// `channel` on, activated, to `out` [kColumns][kFilterGroup]. Taps [begin, end) of each line are
/// inside the image.
template <int kColumns, int kStride>
HWY_INLINE void sum_taps(const Filter& filter, std::int64_t row, std::int64_t column,
                         std::int64_t channel, int begin, int end, float* out) {
  const Tag d;
  const NarrowDepthwiseArgs& args = filter.args;
  const Two bias = load_group(args.bias + channel);
  // Of pixel t: 2t the lower vector, 2t + 1 the upper one.
  Side<Tag, 2 * kColumns> sums;
  sums.each([&](int i) HWY_ATTR { return i % 2 == 0 ? bias.lower : bias.upper; });
  // Channels c and c + 16 of a group are the pair at position c.
  const std::int64_t position = channel / kFilterGroup * kFilterGroup + channel % kHalf * 2;
  for (int line = 0; line < kTaps; ++line) {
    const std::byte* x =
        args.x + 2 * position +
        ((row * kStride + line) * args.in_width + column * kStride - 1) * args.x_pixel;
    const float* const weight = args.weight + line * kTaps * filter.channels + channel;
    if constexpr (kColumns == 1) {
      for (int tap = begin; tap < end; ++tap) {
        const Two value = load_pairs(x + tap * args.x_pixel);
        const Two w = load_group(weight + tap * filter.channels);
        sums.at[0] = hn::MulAdd(value.lower, w.lower, sums.at[0]);
        sums.at[1] = hn::MulAdd(value.upper, w.upper, sums.at[1]);
      }
    } else {
      const Two w[kTaps] = {load_group(weight), load_group(weight + filter.channels),
                            load_group(weight + 2 * filter.channels)};
      constexpr int kInputs = (kColumns - 1) * kStride + kTaps;
#pragma GCC unroll 20
      for (int c = 0; c < kInputs; ++c) {
        const Two value = load_pairs(x);
        x += args.x_pixel;
#pragma GCC unroll 3
        for (int tap = kTaps - 1; tap >= 0; --tap) {
          const int t = (c - tap) / kStride;
          if (c >= tap && (c - tap) % kStride == 0 && t < kColumns) {
            sums.at[2 * t] = hn::MulAdd(value.lower, w[tap].lower, sums.at[2 * t]);
            sums.at[2 * t + 1] = hn::MulAdd(value.upper, w[tap].upper, sums.at[2 * t + 1]);
          }
        }
      }
    }
  }
  if (args.activation == graph::Activation::silu) short_silu(d, sums);
  if (args.activation == graph::Activation::gelu) short_gelu(d, sums);
  const std::int64_t in_group = channel % kHalf;
#pragma GCC unroll 8
  for (int t = 0; t < kColumns; ++t) {
    hn::StoreU(sums.at[2 * t], d, out + t * kFilterGroup + in_group);
    hn::StoreU(sums.at[2 * t + 1], d, out + t * kFilterGroup + kHalf + in_group);
  }
}

template <int kColumns, int kStride>
HWY_INLINE void filter_columns(const Filter& filter, std::int64_t row, std::int64_t column,
                               int begin, int end) {
  const NarrowDepthwiseArgs& args = filter.args;
  const NarrowMatrix& next = *args.next;
  const std::int64_t size = next.precision == graph::Precision::bf16 ? 2 : 1;
  HWY_ALIGN float sums[kColumns * kFilterGroup];
  std::byte* const y = args.y + (row * args.out_width + column) * next.row_bytes();
  for (std::int64_t group = 0; group < filter.channels; group += kFilterGroup) {
    for (std::int64_t c = group; c < group + kHalf; c += kLanes) {
      sum_taps<kColumns, kStride>(filter, row, column, c, begin, end, sums);
    }
    write_rows(next, filter.kernels,
               {sums, kFilterGroup, kColumns, kFilterGroup, y + size * group, next.row_bytes()});
  }
}

template <int kStride>
void filter_rows(const NarrowDepthwiseArgs& args) {
  constexpr int kWide = wide_of(kStride);
  const Filter filter(args);
  // Columns whose three taps are all inside: all but the first, and but the last where it reaches
  // over the edge.
  const std::int64_t inner = std::min((args.in_width - 2) / kStride + 1, args.out_width);
  for (std::int64_t row = 0; row < args.rows; ++row) {
    const auto edge = [&](std::int64_t column) HWY_ATTR {
      const std::int64_t first = column * kStride - 1;
      const int end = static_cast<int>(std::min<std::int64_t>(kTaps, args.in_width - first));
      filter_columns<1, kStride>(filter, row, column, first < 0 ? 1 : 0, end);
    };
    std::int64_t column = 0;
    edge(column++);
    for (; column + kWide <= inner; column += kWide) {
      filter_columns<kWide, kStride>(filter, row, column, 0, kTaps);
    }
    for (; column + 2 <= inner; column += 2) {
      filter_columns<2, kStride>(filter, row, column, 0, kTaps);
    }
    for (; column < args.out_width; ++column) edge(column);
  }
}

void run(const NarrowDepthwiseArgs& args) {
  args.stride == 1 ? filter_rows<1>(args) : filter_rows<2>(args);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(run);

std::vector<float> pack_filter(std::span<const float> weight, std::int64_t channels) {
  const std::int64_t padded = (channels + kFilterGroup - 1) / kFilterGroup * kFilterGroup;
  const std::int64_t taps = static_cast<std::int64_t>(weight.size()) / channels;
  std::vector<float> packed(static_cast<std::size_t>(taps * padded));
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      packed[static_cast<std::size_t>(tap * padded + channel)] =
          weight[static_cast<std::size_t>(channel * taps + tap)];
    }
  }
  return packed;
}

std::vector<std::int64_t> paired_channels(std::int64_t channels) {
  const std::int64_t padded = (channels + kFilterGroup - 1) / kFilterGroup * kFilterGroup;
  std::vector<std::int64_t> order(static_cast<std::size_t>(padded));
  for (std::int64_t i = 0; i < padded; ++i) {
    const std::int64_t in_group = i % kFilterGroup;
    order[static_cast<std::size_t>(i)] =
        i - in_group + in_group / 2 + in_group % 2 * (kFilterGroup / 2);
  }
  return order;
}

void narrow_depthwise(const NarrowDepthwiseArgs& args) { HWY_DYNAMIC_DISPATCH(run)(args); }

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
