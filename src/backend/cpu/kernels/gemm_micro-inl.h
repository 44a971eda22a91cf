// The innermost block of the matrix product, for inclusion per Highway target: a tile of C held in
// registers while K runs.
#if defined(ASSAY_BACKEND_CPU_KERNELS_GEMM_MICRO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_GEMM_MICRO_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_GEMM_MICRO_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_GEMM_MICRO_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>
#include <utility>

#include "backend/cpu/kernels/gemm_shape.h"
#include "backend/cpu/kernels/tile_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A unit of columns is one vector, or eight lanes where vectors are shorter than that. The heights
// are what keeps the accumulators, one unit of B's row per column and one broadcast of A within the
// registers: 32 of 16 lanes with AVX-512, 16 of 8 with AVX2, and little to gain without either.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kUnit = 16;
inline constexpr int kMaxUnits = 4;
constexpr int rows_of(int units) { return units == 1 ? 16 : units == 2 ? 14 : units == 3 ? 9 : 6; }
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kUnit = 8;
inline constexpr int kMaxUnits = 3;
constexpr int rows_of(int units) { return units == 1 ? 12 : units == 2 ? 6 : 4; }
#else
inline constexpr int kUnit = 8;
inline constexpr int kMaxUnits = 1;
constexpr int rows_of(int) { return 2; }
#endif
inline constexpr int kMaxRows = rows_of(1);

using D = hn::CappedTag<float, kUnit>;
using V = hn::Vec<D>;

// The activations are functions of their own over a tile in memory, so that their code is there
// once and not once a tile shape.
HWY_NOINLINE void gelu_tile(float* tile, int vectors) {
  const D d;
  for_groups(d, tile, vectors, [d](Abreast<D>& x) HWY_ATTR { gelu_abreast(d, x); });
}
HWY_NOINLINE void silu_tile(float* tile, int vectors) {
  const D d;
  for_groups(d, tile, vectors, [d](Abreast<D>& x) HWY_ATTR { silu_abreast(d, x); });
}

/// function(0), function(1), ... with the index known to the compiler at once: left as loops, the
/// arrays of accumulators would be spilled before they are unrolled.
template <int... kIndices, class Function>
HWY_INLINE void unrolled(std::integer_sequence<int, kIndices...>, const Function& function) {
  (function(std::integral_constant<int, kIndices>()), ...);
}
template <int kCount, class Function>
HWY_INLINE void unrolled(const Function& function) {
  unrolled(std::make_integer_sequence<int, kCount>(), function);
}

/// One tile of kRows × kUnits units.
template <int kUnits, int kRows>
HWY_NOINLINE void multiply(const MicroArgs& args) {
  const D d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  constexpr int kVectors = kUnits * kUnit / kLanes;
  V sum[kRows][kVectors];
  unrolled<kVectors>([&](auto v) HWY_ATTR {
    const V bias = hn::Load(d, args.bias + v * kLanes);
    unrolled<kRows>([&](auto r) HWY_ATTR { sum[r][v] = bias; });
  });
  const float* HWY_RESTRICT b = args.b;
  const std::int64_t a_row = args.a_row;
  for (const std::int64_t offset : args.segments) {
    const float* HWY_RESTRICT a = args.a + offset;
    const float* const a_end = a + args.segment_length;
    for (; a != a_end; ++a) {
      V row[kVectors];
      unrolled<kVectors>([&](auto v) HWY_ATTR { row[v] = hn::Load(d, b + v * kLanes); });
      unrolled<kRows>([&](auto r) HWY_ATTR {
        const V x = hn::Set(d, a[r * a_row]);
        unrolled<kVectors>([&](auto v) HWY_ATTR { sum[r][v] = hn::MulAdd(x, row[v], sum[r][v]); });
      });
      b += kUnits * kUnit;
    }
  }
  if (args.activation != graph::Activation::none) {
    constexpr int kCount = kRows * kVectors;
    constexpr int kRoom = (kCount + kAbreast - 1) / kAbreast * kAbreast;
    HWY_ALIGN float tile[kRoom * kLanes];
    for (int i = kCount; i < kRoom; ++i) hn::Store(hn::Zero(d), d, tile + i * kLanes);
    unrolled<kRows>([&](auto r) HWY_ATTR {
      unrolled<kVectors>(
          [&](auto v) HWY_ATTR { hn::Store(sum[r][v], d, tile + (r * kVectors + v) * kLanes); });
    });
    args.activation == graph::Activation::gelu ? gelu_tile(tile, kCount) : silu_tile(tile, kCount);
    unrolled<kRows>([&](auto r) HWY_ATTR {
      unrolled<kVectors>(
          [&](auto v) HWY_ATTR { sum[r][v] = hn::Load(d, tile + (r * kVectors + v) * kLanes); });
    });
  }
  const bool whole = args.columns == kUnits * kUnit;
  unrolled<kRows>([&](auto r) HWY_ATTR {
    float* const c = args.c + r * args.c_row;
    const float* const residual = args.residual + r * args.residual_row;
    unrolled<kVectors>([&](auto v) HWY_ATTR {
      if (whole || (v + 1) * kLanes <= args.columns) {
        V y = sum[r][v];
        if (args.residual != nullptr) y = hn::Add(y, hn::LoadU(d, residual + v * kLanes));
        hn::StoreU(y, d, c + v * kLanes);
      } else if (v * kLanes < args.columns) {
        const auto mask = hn::FirstN(d, static_cast<std::size_t>(args.columns - v * kLanes));
        V y = sum[r][v];
        if (args.residual != nullptr) {
          y = hn::Add(y, hn::MaskedLoad(mask, d, residual + v * kLanes));
        }
        hn::BlendedStore(y, mask, d, c + v * kLanes);
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
