#include "backend/cpu/kernels/fake_quantize.h"

#include <cstddef>

#include "numerics/int8.h"

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/fake_quantize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/fake_quantize-inl.h"
#include "backend/cpu/kernels/narrow_convert-inl.h"
#include "backend/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

struct ToE4m3 {
  float scale;
  HWY_INLINE Vector operator()(Vector x) const {
    const Tag d;
    const Vector rounded = RoundToE4m3(d, hn::Mul(x, hn::Set(d, 1.0F / scale)));
    return hn::Mul(rounded, hn::Set(d, scale));
  }
};

struct ToFp16 {
  HWY_INLINE Vector operator()(Vector x) const { return RoundToFp16(Tag(), x); }
};

struct ToBf16 {
  HWY_INLINE Vector operator()(Vector x) const {
    const Tag d;
    const hn::RebindToUnsigned<Tag> bits;
    const auto upper = hn::And(rounded_bf16(d, x), hn::Set(bits, 0xFFFF0000U));
    return hn::IfThenElse(hn::IsNaN(x), x, hn::BitCast(d, upper));
  }
};

/// As numerics::AffineU8, whose zero point is added without a rounding in between: what a target
/// without FMA has no instruction for.
struct ToAffineU8 {
  numerics::AffineU8 affine;
  HWY_INLINE Vector operator()(Vector x) const {
    const Tag d;
    const float scale = affine.scale;
    const Vector zero = hn::Set(d, static_cast<float>(affine.zero_point));
    const Vector code = hn::MulAdd(x, hn::Set(d, 1.0F / scale), zero);
    const Vector known = hn::IfThenZeroElse(hn::IsNaN(code), code);
    const Vector inside = hn::Clamp(known, hn::Zero(d), hn::Set(d, 255.0F));
    return hn::Mul(hn::Sub(hn::Round(inside), zero), hn::Set(d, scale));
  }
};

void to_e4m3(float scale, const float* x, float* y, std::int64_t count) {
  Map(x, y, count, ToE4m3{scale});
}

void to_fp16(const float* x, float* y, std::int64_t count) { Map(x, y, count, ToFp16{}); }

void to_bf16(const float* x, float* y, std::int64_t count) { Map(x, y, count, ToBf16{}); }

void to_affine_u8(const numerics::AffineU8& affine, const float* x, float* y, std::int64_t count) {
  if (HWY_NATIVE_FMA) {
    Map(x, y, count, ToAffineU8{affine});
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = affine.decode(affine.encode(x[i]));
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {
namespace {

HWY_EXPORT(to_e4m3);
HWY_EXPORT(to_fp16);
HWY_EXPORT(to_bf16);
HWY_EXPORT(to_affine_u8);

}  // namespace

void fake_quantize(const graph::FakeQuantize& op, const float* x, float* y, std::int64_t count) {
  const auto scale = static_cast<float>(op.scale);
  switch (op.format) {
    case graph::NumberFormat::e4m3:
      return HWY_DYNAMIC_DISPATCH(to_e4m3)(scale, x, y, count);
    case graph::NumberFormat::affine_u8:
      return HWY_DYNAMIC_DISPATCH(to_affine_u8)({scale, static_cast<std::uint8_t>(op.zero_point)},
                                                x, y, count);
    case graph::NumberFormat::fp16:
      return HWY_DYNAMIC_DISPATCH(to_fp16)(x, y, count);
    case graph::NumberFormat::bf16:
      return HWY_DYNAMIC_DISPATCH(to_bf16)(x, y, count);
  }
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
