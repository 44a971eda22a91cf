#include "backend/cpu/kernels/depthwise.h"

#include <algorithm>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/depthwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/tile_activation-inl.h"
#include "backend/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());
/// Pixels that share their inputs' loads: whole groups of those whose activations run abreast.
constexpr int kWide = 6;
static_assert(kWide % kAbreast == 0);

/// Taps [begin, end) of one axis that fall inside the input, for an output position.
struct Taps {
  std::int64_t begin;
  std::int64_t end;
};
Taps taps_inside(std::int64_t first, std::int64_t step, std::int64_t taps, std::int64_t size) {
  // first + t * step must be in [0, size).
  const std::int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
  const std::int64_t end = first < size ? (size - first + step - 1) / step : 0;
  return {std::min(begin, taps), std::max(std::min(begin, taps), std::min(end, taps))};
}

/// One output row of one image: what every pixel of it shares.
struct Row {
  const float* x;         ///< the image
  const float* residual;  ///< the output row's, or null
  float* y;               ///< the output row
  std::int64_t first_y;   ///< the input row of tap 0
  Taps taps;              ///< vertical
};

Row row_of(const DepthwiseArgs& args, std::int64_t index) {
  const std::int64_t image = index / args.out_height;
  const std::int64_t first_y = index % args.out_height * args.stride[0] - args.padding[0];
  const std::int64_t y_offset = index * args.out_width * args.channels;
  return {args.x + image * args.in_height * args.in_width * args.channels,
          args.residual != nullptr ? args.residual + y_offset : nullptr, args.y + y_offset, first_y,
          taps_inside(first_y, args.dilation[0], args.kernel[0], args.in_height)};
}

template <class Access>
HWY_INLINE Vector bias_of(const DepthwiseArgs& args, std::int64_t channel, Access access) {
  return args.bias != nullptr ? access.load(Tag(), args.bias + channel) : hn::Zero(Tag());
}

template <int kColumns>
HWY_INLINE void activate(graph::Activation activation, Vector (&sums)[kColumns]) {
  const Tag d;
  if (activation == graph::Activation::none) return;
  const bool silu = activation == graph::Activation::silu;
  if constexpr (kColumns % kAbreast == 0) {
    for (int first = 0; first < kColumns; first += kAbreast) {
      Abreast<Tag> x;
      x.each([&](int i) HWY_ATTR { return sums[first + i]; });
      silu ? silu_abreast(d, x) : gelu_abreast(d, x);
      for (int i = 0; i < kAbreast; ++i) sums[first + i] = x.lane[i];
    }
  } else {
    for (int t = 0; t < kColumns; ++t) sums[t] = silu ? Silu(d, sums[t]) : Gelu(d, sums[t]);
  }
}

/// Activation and residual of neighbouring pixels, and their store.
template <int kColumns, class Access>
HWY_INLINE void finish(const DepthwiseArgs& args, const Row& row, std::int64_t column,
                       std::int64_t channel, Vector (&sums)[kColumns], Access access) {
  const Tag d;
  activate(args.activation, sums);
  std::int64_t offset = column * args.channels + channel;
#pragma GCC unroll 8
  for (int t = 0; t < kColumns; ++t) {
    if (row.residual != nullptr) sums[t] = hn::Add(sums[t], access.load(d, row.residual + offset));
    access.store(d, sums[t], row.y + offset);
    offset += args.channels;
  }
}

/// One pixel of any convolution, one vector of channels.
struct Pixel {
  template <class Access>
  static HWY_INLINE void run(const DepthwiseArgs& args, const Row& row, std::int64_t column,
                             std::int64_t channel, Access access) {
    const Tag d;
    const std::int64_t first_x = column * args.stride[1] - args.padding[1];
    const Taps across = taps_inside(first_x, args.dilation[1], args.kernel[1], args.in_width);
    Vector sums[1] = {bias_of(args, channel, access)};
    for (std::int64_t i = row.taps.begin; i < row.taps.end; ++i) {
      const std::int64_t in_y = row.first_y + i * args.dilation[0];
      const float* const x = row.x + (in_y * args.in_width + first_x) * args.channels + channel;
      const float* const weight = args.weight + i * args.kernel[1] * args.channels + channel;
      for (std::int64_t j = across.begin; j < across.end; ++j) {
        sums[0] = hn::MulAdd(access.load(d, x + j * args.dilation[1] * args.channels),
                             access.load(d, weight + j * args.channels), sums[0]);
      }
    }
    finish(args, row, column, channel, sums, access);
  }
};

/// kColumns neighbouring pixels of a kernel three wide and without dilation, whose taps are all
/// inside, one vector of channels: each input vector is loaded once for all the pixels that use it.
/// The order of a pixel's sum is that of Pixel.
template <int kColumns, int kStride>
struct Run {
  template <class Access>
  static HWY_INLINE void run(const DepthwiseArgs& args, const Row& row, std::int64_t column,
                             std::int64_t channel, Access access) {
    const Tag d;
    const std::int64_t step = args.channels;
    Vector sums[kColumns];
    const Vector bias = bias_of(args, channel, access);
#pragma GCC unroll 8
    for (int t = 0; t < kColumns; ++t) sums[t] = bias;
    const std::int64_t first_x = column * kStride - args.padding[1];
    const float* x =
        row.x + ((row.first_y + row.taps.begin) * args.in_width + first_x) * step + channel;
    const float* weight = args.weight + row.taps.begin * 3 * step + channel;
    for (std::int64_t i = row.taps.begin; i < row.taps.end; ++i) {
      const Vector w[3] = {access.load(d, weight), access.load(d, weight + step),
                           access.load(d, weight + 2 * step)};
      constexpr int kInputs = (kColumns - 1) * kStride + 3;
      const float* input = x;
#pragma GCC unroll 20
      for (int c = 0; c < kInputs; ++c) {
        const Vector value = access.load(d, input);
        input += step;
#pragma GCC unroll 3
        for (int tap = 2; tap >= 0; --tap) {
          const int t = (c - tap) / kStride;
          if (c >= tap && (c - tap) % kStride == 0 && t < kColumns) {
            sums[t] = hn::MulAdd(value, w[tap], sums[t]);
          }
        }
      }
      x += args.in_width * step;
      weight += 3 * step;
    }
    finish(args, row, column, channel, sums, access);
  }
};

/// One body for every vector of channels. Channels are innermost, so that memory is read as it
/// lies.
template <class Body>
HWY_INLINE void all_channels(const DepthwiseArgs& args, const Row& row, std::int64_t column) {
  std::int64_t channel = 0;
  for (; channel + kLanes <= args.channels; channel += kLanes) {
    Body::run(args, row, column, channel, Whole());
  }
  if (channel < args.channels) {
    Body::run(args, row, column, channel, Partial{args.channels - channel});
  }
}

/// Output columns [begin, end) whose horizontal taps are all inside the input.
struct Inner {
  std::int64_t begin;
  std::int64_t end;
};
Inner inner_columns(const DepthwiseArgs& args) {
  const std::int64_t reach = (args.kernel[1] - 1) * std::int64_t{args.dilation[1]} + 1;
  const std::int64_t begin = (args.padding[1] + args.stride[1] - 1) / args.stride[1];
  const std::int64_t room = args.in_width - reach + args.padding[1];
  const std::int64_t end = room < 0 ? 0 : room / args.stride[1] + 1;
  const std::int64_t first = std::min(begin, args.out_width);
  return {first, std::clamp(end, first, args.out_width)};
}

template <int kStride>
void convolve_row_of_three(const DepthwiseArgs& args, const Row& row) {
  const Inner inner = inner_columns(args);
  std::int64_t column = 0;
  for (; column < inner.begin; ++column) all_channels<Pixel>(args, row, column);
  for (; column + kWide <= inner.end; column += kWide) {
    all_channels<Run<kWide, kStride>>(args, row, column);
  }
  for (; column + 2 <= inner.end; column += 2) {
    all_channels<Run<2, kStride>>(args, row, column);
  }
  for (; column < args.out_width; ++column) all_channels<Pixel>(args, row, column);
}

void convolve(const DepthwiseArgs& args, std::int64_t begin, std::int64_t end) {
  const bool three_wide = args.kernel[1] == 3 && args.dilation[1] == 1 && args.dilation[0] == 1;
  for (std::int64_t index = begin; index < end; ++index) {
    const Row row = row_of(args, index);
    if (three_wide && args.stride[1] == 1) {
      convolve_row_of_three<1>(args, row);
    } else if (three_wide && args.stride[1] == 2) {
      convolve_row_of_three<2>(args, row);
    } else {
      for (std::int64_t column = 0; column < args.out_width; ++column) {
        all_channels<Pixel>(args, row, column);
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(convolve);

void pack_depthwise_weight(const float* weight, std::int64_t channels, int kernel_height,
                           int kernel_width, float* packed) {
  const std::int64_t taps = std::int64_t{kernel_height} * kernel_width;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      packed[tap * channels + channel] = weight[channel * taps + tap];
    }
  }
}

void depthwise_conv(const DepthwiseArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  HWY_DYNAMIC_DISPATCH(convolve)(args, row_begin, row_end);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
