// Rows of fp32 numbers to the operands of a narrow product, for inclusion per Highway target.
#if defined(ASSAY_BACKEND_CPU_KERNELS_NARROW_WRITE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_NARROW_WRITE_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_NARROW_WRITE_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_NARROW_WRITE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>

#include "backend/cpu/kernels/narrow_block.h"
#include "backend/cpu/kernels/narrow_convert-inl.h"
#include "backend/cpu/kernels/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Converts `count` numbers a vector at a time: `store(d, vector, to)` writes one of operands of
/// `size` bytes.
template <class Store>
HWY_INLINE void write_operands(const float* x, std::int64_t count, std::int64_t size, std::byte* to,
                               const Store& store) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(d, hn::LoadU(d, x + i), to + i * size);
  if (i < count) {
    HWY_ALIGN std::byte last[kLanes * 2];
    store(d, LoadPartial(d, x + i, count - i), last);
    std::memcpy(to + i * size, last, static_cast<std::size_t>((count - i) * size));
  }
}

inline HWY_NOINLINE void write_bf16(const ConvertArgs& args) {
  for (int r = 0; r < args.rows; ++r) {
    write_operands(args.x + r * args.stride, args.count, 2, args.to + r * args.to_stride,
                   [](auto d, auto v, std::byte* out) HWY_ATTR { StoreBf16(d, v, out); });
  }
}

inline HWY_NOINLINE void write_u8(numerics::AffineU8 format, const float* x, std::int64_t count,
                                  std::byte* to) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  write_operands(x, count, 1, to,
                 [&](auto d, auto v, std::byte* out) HWY_ATTR { StoreU8(d, v, format, out); });
#else
  // The codes must be those of the other targets, whose multiply-adds round once.
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::byte>(format.encode(x[i]));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
