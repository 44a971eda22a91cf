/// Rounding fp32 lanes to the operands of narrow products. For use inside HWY_NAMESPACE.
#if defined(ASSAY_BACKEND_CPU_KERNELS_NARROW_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_NARROW_CONVERT_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_NARROW_CONVERT_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_NARROW_CONVERT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "numerics/int8.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The bf16 nearest to each lane, ties to even, in the upper half of its 32 bits; the lower half is
/// left as rounding made it. A NaN stays one, its payload's low half aside: the NaNs of arithmetic
/// have none there.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> rounded_bf16(D, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
  return hn::Add(hn::Add(bits, hn::Set(du, 0x7FFFU)), odd);
}

/// Lane by lane the pair of bf16 (first, second), first in the lower half.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> bf16_pair(D d, hn::Vec<D> first, hn::Vec<D> second) {
  const hn::RebindToUnsigned<D> du;
  const auto low = hn::ShiftRight<16>(rounded_bf16(d, first));
  return hn::Or(low, hn::And(rounded_bf16(d, second), hn::Set(du, 0xFFFF0000U)));
}

/// Stores the lanes as bf16.
template <class D>
HWY_INLINE void store_bf16(D d, hn::Vec<D> x, std::byte* to) {
  const hn::Rebind<std::uint16_t, D> half;
  const auto codes = hn::ShiftRight<16>(rounded_bf16(d, x));
  hn::StoreU(hn::DemoteTo(half, hn::BitCast(hn::RebindToSigned<D>(), codes)), half,
             reinterpret_cast<std::uint16_t*>(to));
}

/// Stores the lanes as affine u8: the codes of numerics::AffineU8::encode().
template <class D>
HWY_INLINE void store_u8(D d, hn::Vec<D> x, const numerics::AffineU8& input, std::byte* to) {
  const hn::Rebind<std::uint8_t, D> byte;
  const auto zero_point = hn::Set(d, static_cast<float>(input.zero_point));
  auto code = hn::MulAdd(x, hn::Set(d, 1.0F / input.scale), zero_point);
  // Clamped before it is rounded: what is far outside does not fit an integer. NaN becomes 0.
  code = hn::IfThenElseZero(hn::Gt(code, hn::Zero(d)), hn::Min(code, hn::Set(d, 255.0F)));
  hn::StoreU(hn::DemoteTo(byte, hn::NearestInt(code)), byte, reinterpret_cast<std::uint8_t*>(to));
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
