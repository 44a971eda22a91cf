#pragma once
/// What becomes of a product's sums: scale, bias, activation, residual, and the output's format.
/// Two columns at a time: the code is short, and neighbouring lanes write neighbouring words.
#include "backend/cuda/kernels/source.cuh"

namespace assay::backend::cuda {

__device__ inline std::int64_t place_of(const View& view, RowOf row, int column) {
  return at(view, row.image, row.row, column);
}

/// One column of a view of any type.
static __device__ __noinline__ void write_number(const Product& p, RowOf row, int column, float x) {
  if (p.scale != nullptr) x *= __ldg(p.scale + column);
  if (p.bias != nullptr) x += __ldg(p.bias + column);
  x = act(p.act, x);
  if (p.has_residual != 0) x += load1(p.residual, place_of(p.residual, row, column));
  store1(p.out, place_of(p.out, row, column), x);
}

/// Whether two columns are one aligned word of f16, and of the residual too.
__device__ inline bool writes_pairs(const Product& p) {
  const auto pairs = [](const View& view) {
    return view.store == Store::f16 && (static_cast<std::uint64_t>(view.row_stride) |
                                        static_cast<std::uint64_t>(view.image_stride) |
                                        reinterpret_cast<std::uintptr_t>(view.data) / 2) %
                                               2 ==
                                           0;
  };
  return p.n % 2 == 0 && pairs(p.out) && (p.has_residual == 0 || pairs(p.residual));
}

/// Columns `column` and the next, where writes_pairs().
__device__ inline void write_pair(const Product& p, RowOf row, int column, float2 x) {
  if (p.scale != nullptr) {
    const float2 scale = __ldg(reinterpret_cast<const float2*>(p.scale + column));
    x = make_float2(x.x * scale.x, x.y * scale.y);
  }
  if (p.bias != nullptr) {
    const float2 bias = __ldg(reinterpret_cast<const float2*>(p.bias + column));
    x = make_float2(x.x + bias.x, x.y + bias.y);
  }
  if (p.act != Act::none) x = make_float2(act(p.act, x.x), act(p.act, x.y));
  if (p.has_residual != 0) {
    const float2 residual = floats_of_f16(*reinterpret_cast<const std::uint32_t*>(
        static_cast<const __half*>(p.residual.data) + place_of(p.residual, row, column)));
    x = make_float2(x.x + residual.x, x.y + residual.y);
  }
  *reinterpret_cast<std::uint32_t*>(static_cast<__half*>(p.out.data) +
                                    place_of(p.out, row, column)) = pack_f16(x.x, x.y);
}

}  // namespace assay::backend::cuda
