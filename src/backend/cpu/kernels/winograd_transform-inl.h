// Winograd's transforms of tiles, for inclusion per Highway target. A vector is the same pixel or
// point of as many channels as it has lanes.
#if defined(ASSAY_BACKEND_CPU_KERNELS_WINOGRAD_TRANSFORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_WINOGRAD_TRANSFORM_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_WINOGRAD_TRANSFORM_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_WINOGRAD_TRANSFORM_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstdint>

#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/winograd_points.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using WinogradTag = hn::ScalableTag<float>;
using WinogradVector = hn::Vec<WinogradTag>;

/// F(2, 3) in one dimension, at 0, a, -a and infinity: `input` of 4 pixels gives 4 points, whose
/// products with the weight's 4 points `output` takes to 2 numbers.
struct F2 {
  static constexpr int kOut = 2;
  static constexpr int kIn = 4;
  using V = WinogradVector;

  static HWY_INLINE void input(const V* x, V* point) {
    const V square = hn::Set(WinogradTag(), static_cast<float>(kWinogradPoint * kWinogradPoint));
    const V a = hn::Set(WinogradTag(), static_cast<float>(kWinogradPoint));
    point[0] = hn::NegMulAdd(square, x[0], x[2]);
    point[1] = hn::MulAdd(a, x[1], x[2]);
    point[2] = hn::NegMulAdd(a, x[1], x[2]);
    point[3] = hn::NegMulAdd(square, x[1], x[3]);
  }

  static HWY_INLINE void output(const V* point, V* y) {
    const V a = hn::Set(WinogradTag(), static_cast<float>(kWinogradPoint));
    y[0] = hn::Add(point[0], hn::Add(point[1], point[2]));
    y[1] = hn::MulAdd(a, hn::Sub(point[1], point[2]), point[3]);
  }
};

/// F(4, 3) at 0, a, -a, b, -b and infinity: 6 pixels, 6 points, 4 numbers.
struct F4 {
  static constexpr int kOut = 4;
  static constexpr int kIn = 6;
  static constexpr double kA = kWinogradPoints[0];
  static constexpr double kB = kWinogradPoints[1];
  using V = WinogradVector;

  static HWY_INLINE V constant(double value) {
    return hn::Set(WinogradTag(), static_cast<float>(value));
  }

  /// Each point's polynomial is the product of (t - q) over the other points q; powers of t are
  /// pixels.
  static HWY_INLINE void input(const V* x, V* point) {
    const V a = constant(kA);
    const V b = constant(kB);
    const V aa = constant(kA * kA);
    const V bb = constant(kB * kB);
    const V sum = constant(kA * kA + kB * kB);
    const V product = constant(kA * kA * kB * kB);
    point[0] = hn::MulAdd(product, x[0], hn::NegMulAdd(sum, x[2], x[4]));
    point[5] = hn::MulAdd(product, x[1], hn::NegMulAdd(sum, x[3], x[5]));
    const V even_a = hn::NegMulAdd(bb, x[2], x[4]);
    const V odd_a = hn::NegMulAdd(bb, x[1], x[3]);
    point[1] = hn::MulAdd(a, odd_a, even_a);
    point[2] = hn::NegMulAdd(a, odd_a, even_a);
    const V even_b = hn::NegMulAdd(aa, x[2], x[4]);
    const V odd_b = hn::NegMulAdd(aa, x[1], x[3]);
    point[3] = hn::MulAdd(b, odd_b, even_b);
    point[4] = hn::NegMulAdd(b, odd_b, even_b);
  }

  static HWY_INLINE void output(const V* point, V* y) {
    const V even_a = hn::Add(point[1], point[2]);
    const V odd_a = hn::Sub(point[1], point[2]);
    const V even_b = hn::Add(point[3], point[4]);
    const V odd_b = hn::Sub(point[3], point[4]);
    y[0] = hn::Add(point[0], hn::Add(even_a, even_b));
    y[1] = hn::MulAdd(constant(kA), odd_a, hn::Mul(constant(kB), odd_b));
    y[2] = hn::MulAdd(constant(kA * kA), even_a, hn::Mul(constant(kB * kB), even_b));
    y[3] = hn::MulAdd(constant(kA * kA * kA), odd_a,
                      hn::MulAdd(constant(kB * kB * kB), odd_b, point[5]));
  }
};

/// Both dimensions of one tile's input, one vector of channels: `pixels` points at each of kIn ×
/// kIn pixels, and point p goes to points + p * stride.
template <class F, class Access>
HWY_INLINE void input_tile(const float* const* pixels, std::int64_t channel, Access access,
                           float* points, std::int64_t stride) {
  constexpr int kIn = F::kIn;
  const WinogradTag d;
  WinogradVector half[kIn][kIn];  // [column of pixels][row of points]
#pragma GCC unroll 6
  for (int x = 0; x < kIn; ++x) {
    WinogradVector column[kIn];
#pragma GCC unroll 6
    for (int y = 0; y < kIn; ++y) column[y] = access.load(d, pixels[y * kIn + x] + channel);
    F::input(column, half[x]);
  }
#pragma GCC unroll 6
  for (int i = 0; i < kIn; ++i) {
    WinogradVector row[kIn];
    WinogradVector point[kIn];
#pragma GCC unroll 6
    for (int x = 0; x < kIn; ++x) row[x] = half[x][i];
    F::input(row, point);
#pragma GCC unroll 6
    for (int j = 0; j < kIn; ++j)
      access.store(d, point[j], points + (i * kIn + j) * stride + channel);
  }
}

/// Both dimensions of one tile's output plus bias: kOut × kOut vectors from `points`.
template <class F, class Access>
HWY_INLINE void output_tile(const float* points, std::int64_t stride, std::int64_t channel,
                            WinogradVector bias, Access access, float* HWY_RESTRICT y) {
  constexpr int kIn = F::kIn;
  constexpr int kOut = F::kOut;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(WinogradTag()));
  const WinogradTag d;
  WinogradVector half[kIn][kOut];  // [column of points][row of outputs]
#pragma GCC unroll 6
  for (int j = 0; j < kIn; ++j) {
    WinogradVector column[kIn];
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) {
      column[i] = access.load(d, points + (i * kIn + j) * stride + channel);
    }
    F::output(column, half[j]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kOut; ++i) {
    WinogradVector row[kIn];
    WinogradVector out[kOut];
#pragma GCC unroll 6
    for (int j = 0; j < kIn; ++j) row[j] = half[j][i];
    F::output(row, out);
#pragma GCC unroll 4
    for (int j = 0; j < kOut; ++j) {
      hn::Store(hn::Add(out[j], bias), d, y + (i * kOut + j) * kLanes);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
