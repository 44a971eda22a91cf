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
#include "backend/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

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

/// One output row of one image, for one vector of channels: what every pixel of it shares.
struct Row {
  const float* x;         ///< the image, at the channel
  const float* weight;    ///< at the channel
  const float* bias;      ///< at the channel, or null
  const float* residual;  ///< the output row's, at the channel, or null
  float* y;               ///< the output row, at the channel
  std::int64_t first_y;   ///< the input row of tap 0
  Taps taps;              ///< vertical
};

template <class Access>
HWY_INLINE Vector start(const Row& row, Access access) {
  return row.bias != nullptr ? access.load(Tag(), row.bias) : hn::Zero(Tag());
}

template <graph::Activation kActivation, class Access>
HWY_INLINE void finish(const DepthwiseArgs& args, const Row& row, std::int64_t column, Vector sum,
                       Access access) {
  const Tag d;
  if constexpr (kActivation == graph::Activation::gelu) sum = Gelu(d, sum);
  if constexpr (kActivation == graph::Activation::silu) sum = Silu(d, sum);
  const std::int64_t offset = column * args.channels;
  if (row.residual != nullptr) sum = hn::Add(sum, access.load(d, row.residual + offset));
  access.store(d, sum, row.y + offset);
}

/// One pixel of any convolution.
template <graph::Activation kActivation, class Access>
void convolve_pixel(const DepthwiseArgs& args, const Row& row, std::int64_t column, Access access) {
  const Tag d;
  const std::int64_t first_x = column * args.stride[1] - args.padding[1];
  const Taps across = taps_inside(first_x, args.dilation[1], args.kernel[1], args.in_width);
  Vector sum = start(row, access);
  for (std::int64_t i = row.taps.begin; i < row.taps.end; ++i) {
    const std::int64_t in_y = row.first_y + i * args.dilation[0];
    const float* const x = row.x + (in_y * args.in_width + first_x) * args.channels;
    const float* const weight = row.weight + i * args.kernel[1] * args.channels;
    for (std::int64_t j = across.begin; j < across.end; ++j) {
      sum = hn::MulAdd(access.load(d, x + j * args.dilation[1] * args.channels),
                       access.load(d, weight + j * args.channels), sum);
    }
  }
  finish<kActivation>(args, row, column, sum, access);
}

/// kColumns neighbouring pixels of a kernel three wide and without dilation, whose taps are all
/// inside: each input vector is loaded once for all the pixels that use it. The order of a pixel's
/// sum is that of convolve_pixel.
template <graph::Activation kActivation, int kColumns, int kStride, class Access>
HWY_INLINE void convolve_run(const DepthwiseArgs& args, const Row& row, std::int64_t column,
                             Access access) {
  const Tag d;
  const std::int64_t step = args.channels;
  Vector sums[kColumns];
  const Vector bias = start(row, access);
#pragma GCC unroll 8
  for (int t = 0; t < kColumns; ++t) sums[t] = bias;
  const std::int64_t first_x = column * kStride - args.padding[1];
  const float* x =
      row.x + ((row.first_y + row.taps.begin) * args.in_width + first_x) * args.channels;
  const float* weight = row.weight + row.taps.begin * 3 * step;
  for (std::int64_t i = row.taps.begin; i < row.taps.end; ++i) {
    const Vector w[3] = {access.load(d, weight), access.load(d, weight + step),
                         access.load(d, weight + 2 * step)};
    constexpr int kInputs = (kColumns - 1) * kStride + 3;
#pragma GCC unroll 20
    for (int c = 0; c < kInputs; ++c) {
      const Vector value = access.load(d, x + c * step);
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
#pragma GCC unroll 8
  for (int t = 0; t < kColumns; ++t) finish<kActivation>(args, row, column + t, sums[t], access);
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

template <graph::Activation kActivation, int kStride, class Access>
void convolve_row_of_three(const DepthwiseArgs& args, const Row& row, Access access) {
  const Inner inner = inner_columns(args);
  std::int64_t column = 0;
  for (; column < inner.begin; ++column) convolve_pixel<kActivation>(args, row, column, access);
  for (; column + 8 <= inner.end; column += 8) {
    convolve_run<kActivation, 8, kStride>(args, row, column, access);
  }
  for (; column + 2 <= inner.end; column += 2) {
    convolve_run<kActivation, 2, kStride>(args, row, column, access);
  }
  for (; column < args.out_width; ++column) convolve_pixel<kActivation>(args, row, column, access);
}

template <graph::Activation kActivation, class Access>
void convolve_row(const DepthwiseArgs& args, const Row& row, Access access) {
  const bool three_wide = args.kernel[1] == 3 && args.dilation[1] == 1 && args.dilation[0] == 1;
  if (three_wide && args.stride[1] == 1) {
    convolve_row_of_three<kActivation, 1>(args, row, access);
  } else if (three_wide && args.stride[1] == 2) {
    convolve_row_of_three<kActivation, 2>(args, row, access);
  } else {
    for (std::int64_t column = 0; column < args.out_width; ++column) {
      convolve_pixel<kActivation>(args, row, column, access);
    }
  }
}

Row row_of(const DepthwiseArgs& args, std::int64_t index, std::int64_t channel) {
  const std::int64_t image = index / args.out_height;
  const std::int64_t first_y = index % args.out_height * args.stride[0] - args.padding[0];
  const std::int64_t y_offset = index * args.out_width * args.channels + channel;
  return {args.x + image * args.in_height * args.in_width * args.channels + channel,
          args.weight + channel,
          args.bias != nullptr ? args.bias + channel : nullptr,
          args.residual != nullptr ? args.residual + y_offset : nullptr,
          args.y + y_offset,
          first_y,
          taps_inside(first_y, args.dilation[0], args.kernel[0], args.in_height)};
}

template <graph::Activation kActivation>
void convolve_rows(const DepthwiseArgs& args, std::int64_t begin, std::int64_t end) {
  // A few rows are done one vector of channels after another, so that an input row is still in the
  // first-level cache when the next output rows need it.
  constexpr std::int64_t kRowsTogether = 8;
  for (std::int64_t first = begin; first < end; first += kRowsTogether) {
    const std::int64_t last = std::min(end, first + kRowsTogether);
    std::int64_t channel = 0;
    for (; channel + kLanes <= args.channels; channel += kLanes) {
      for (std::int64_t index = first; index < last; ++index) {
        convolve_row<kActivation>(args, row_of(args, index, channel), Whole());
      }
    }
    if (channel == args.channels) continue;
    for (std::int64_t index = first; index < last; ++index) {
      convolve_row<kActivation>(args, row_of(args, index, channel),
                                Partial{args.channels - channel});
    }
  }
}

void convolve(const DepthwiseArgs& args, std::int64_t begin, std::int64_t end) {
  using graph::Activation;
  switch (args.activation) {
    case Activation::none:
      convolve_rows<Activation::none>(args, begin, end);
      break;
    case Activation::gelu:
      convolve_rows<Activation::gelu>(args, begin, end);
      break;
    case Activation::silu:
      convolve_rows<Activation::silu>(args, begin, end);
      break;
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
