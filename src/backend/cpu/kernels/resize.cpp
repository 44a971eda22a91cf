#include "backend/cpu/kernels/resize.h"

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/resize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

/// One vector of Σ over taps of weight[t] * source[t][offset ...].
template <int kTaps, class Access>
HWY_INLINE Vector combine(const float* const (&source)[kTaps], const float* weight,
                          std::int64_t offset, Access access) {
  const Tag d;
  Vector sum = hn::Mul(hn::Set(d, weight[0]), access.load(d, source[0] + offset));
#pragma GCC unroll 4
  for (int t = 1; t < kTaps; ++t) {
    sum = hn::MulAdd(hn::Set(d, weight[t]), access.load(d, source[t] + offset), sum);
  }
  return sum;
}

template <int kTaps>
HWY_INLINE void combine_all(const float* const (&source)[kTaps], const float* weight,
                            std::int64_t count, float* y) {
  const Tag d;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(combine<kTaps>(source, weight, i, Whole()), d, y + i);
  }
  const Partial tail{count - i};
  if (i < count) tail.store(d, combine<kTaps>(source, weight, i, tail), y + i);
}

/// Columns of three-channel rows. Each pixel is computed as four numbers, of which the fourth is
/// overwritten by the next pixel; `line` is readable one float beyond its end.
template <int kTaps>
HWY_INLINE void combine_rgb(const ResizeArgs& args, const float* line, float* y) {
  const hn::CappedTag<float, 4> d;
  constexpr auto kStep = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (std::int64_t column = 0; column < args.out_width; ++column) {
    const std::int32_t* const index = args.columns->index.data() + column * kTaps;
    const float* const weight = args.columns->weight.data() + column * kTaps;
    float* const pixel = y + column * 3;
    for (std::int64_t c = 0; c < 3; c += kStep) {
      auto sum = hn::Mul(hn::Set(d, weight[0]), hn::LoadU(d, line + index[0] * 3 + c));
#pragma GCC unroll 4
      for (int t = 1; t < kTaps; ++t) {
        sum = hn::MulAdd(hn::Set(d, weight[t]), hn::LoadU(d, line + index[t] * 3 + c), sum);
      }
      if (column + 1 < args.out_width || kStep == 1) {
        hn::StoreU(sum, d, pixel + c);
      } else {
        StorePartial(d, sum, pixel, 3);
      }
    }
  }
}

/// Rows are blended first, into one line as long as an input row, and then the columns: each number
/// costs taps + taps multiplications instead of taps * taps.
template <int kTaps>
void resize_rows(const ResizeArgs& args, std::int64_t begin, std::int64_t end, float* line) {
  const std::int64_t in_row = args.in_width * args.channels;
  const std::int64_t out_row = args.out_width * args.channels;
  line[in_row] = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* const image = args.x + row / args.out_height * args.in_height * in_row;
    const std::int64_t position = row % args.out_height * kTaps;
    const float* source[kTaps];
    for (int t = 0; t < kTaps; ++t) {
      source[t] = image + args.rows->index[static_cast<std::size_t>(position + t)] * in_row;
    }
    combine_all<kTaps>(source, args.rows->weight.data() + position, in_row, line);
    float* const y = args.y + row * out_row;
    if (args.channels == 3) {
      combine_rgb<kTaps>(args, line, y);
      continue;
    }
    for (std::int64_t column = 0; column < args.out_width; ++column) {
      for (int t = 0; t < kTaps; ++t) {
        const auto tap = static_cast<std::size_t>(column * kTaps + t);
        source[t] = line + args.columns->index[tap] * args.channels;
      }
      combine_all<kTaps>(source, args.columns->weight.data() + column * kTaps, args.channels,
                         y + column * args.channels);
    }
  }
}

void resize_any(const ResizeArgs& args, std::int64_t begin, std::int64_t end, float* line) {
  if (args.rows->taps == 2) {
    resize_rows<2>(args, begin, end, line);
  } else {
    resize_rows<4>(args, begin, end, line);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {
namespace {

HWY_EXPORT(resize_any);

}  // namespace

std::int64_t resize_scratch_floats(const ResizeArgs& args) {
  // One more, which the three-channel loop reads and does not use.
  return args.in_width * args.channels + 1;
}

void resize(const ResizeArgs& args, std::int64_t row_begin, std::int64_t row_end, float* scratch) {
  HWY_DYNAMIC_DISPATCH(resize_any)(args, row_begin, row_end, scratch);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
