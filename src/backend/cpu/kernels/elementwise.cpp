#include "backend/cpu/kernels/elementwise.h"

#include <algorithm>
#include <cstring>

// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/tile_activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::int64_t kLanes = hn::MaxLanes(Tag());

struct AddOp {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Add(a, b); }
};
struct MulOp {
  HWY_INLINE Vector operator()(Vector a, Vector b) const { return hn::Mul(a, b); }
};
struct GeluOp {
  HWY_INLINE Vector operator()(Vector a) const { return Gelu(Tag(), a); }
};
struct SiluOp {
  HWY_INLINE Vector operator()(Vector a) const { return Silu(Tag(), a); }
};

template <class Op>
void zip(const float* x, const float* y, float* out, std::int64_t count, Op op) {
  const Tag d;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(op(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, out + i);
  }
  const Partial tail{count - i};
  if (i < count) tail.store(d, op(tail.load(d, x + i), tail.load(d, y + i)), out + i);
}

/// Narrow suffixes are repeated until their length is whole vectors, so that no vector is cut at
/// the end of a row.
constexpr std::int64_t kNarrow = 64;

template <class Op>
void zip_suffix(const float* x, const float* suffix, float* out, std::int64_t rows,
                std::int64_t width, Op op) {
  if (width >= kNarrow) {
    for (std::int64_t r = 0; r < rows; ++r) zip(x + r * width, suffix, out + r * width, width, op);
    return;
  }
  float repeated[kNarrow * kLanes];
  const std::int64_t copies = std::min(rows, kLanes);
  for (std::int64_t r = 0; r < copies; ++r) {
    std::copy_n(suffix, width, repeated + r * width);
  }
  for (std::int64_t r = 0; r < rows; r += copies) {
    const std::int64_t count = std::min(copies, rows - r) * width;
    zip(x + r * width, repeated, out + r * width, count, op);
  }
}

void activate_all(graph::Activation activation, const float* x, float* y, std::int64_t count) {
  switch (activation) {
    case graph::Activation::none:
      if (x != y) std::copy_n(x, count, y);
      break;
    case graph::Activation::gelu:
      Map(x, y, count, GeluOp());
      break;
    case graph::Activation::silu:
      Map(x, y, count, SiluOp());
      break;
  }
}

void add_all(const float* x, const float* y, float* out, std::int64_t count) {
  zip(x, y, out, count, AddOp());
}
void mul_all(const float* x, const float* y, float* out, std::int64_t count) {
  zip(x, y, out, count, MulOp());
}
void add_rows(const float* x, const float* suffix, float* out, std::int64_t rows,
              std::int64_t width) {
  zip_suffix(x, suffix, out, rows, width, AddOp());
}
void mul_rows(const float* x, const float* suffix, float* out, std::int64_t rows,
              std::int64_t width) {
  zip_suffix(x, suffix, out, rows, width, MulOp());
}

template <class Access>
HWY_INLINE void affine(Access access, const float* x, float* y, const float* scale,
                       const float* shift) {
  const Tag d;
  access.store(d, hn::MulAdd(access.load(d, x), access.load(d, scale), access.load(d, shift)), y);
}

void affine_rows(const float* x, float* y, std::int64_t rows, std::int64_t channels,
                 const float* scale, const float* shift) {
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) affine(Whole(), x + c, y + c, scale + c, shift + c);
    if (c < channels) affine(Partial{channels - c}, x + c, y + c, scale + c, shift + c);
    x += channels;
    y += channels;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(activate_all);
HWY_EXPORT(add_all);
HWY_EXPORT(mul_all);
HWY_EXPORT(add_rows);
HWY_EXPORT(mul_rows);
HWY_EXPORT(affine_rows);

void activate(graph::Activation activation, const float* x, float* y, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(activate_all)(activation, x, y, count);
}

void add(const float* x, const float* y, float* out, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(add_all)(x, y, out, count);
}

void mul(const float* x, const float* y, float* out, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(mul_all)(x, y, out, count);
}

void add_suffix(const float* x, const float* suffix, float* out, std::int64_t rows,
                std::int64_t width) {
  HWY_DYNAMIC_DISPATCH(add_rows)(x, suffix, out, rows, width);
}

void mul_suffix(const float* x, const float* suffix, float* out, std::int64_t rows,
                std::int64_t width) {
  HWY_DYNAMIC_DISPATCH(mul_rows)(x, suffix, out, rows, width);
}

void batch_norm(const float* x, float* y, std::int64_t rows, std::int64_t channels,
                const float* scale, const float* shift) {
  HWY_DYNAMIC_DISPATCH(affine_rows)(x, y, rows, channels, scale, shift);
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
