// Products of packed rows: blocks of sums by the instruction set's kernel, and what is done with
// them, written once.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/kernels/narrow.h"
#include "backend/cpu/kernels/narrow_block.h"

// The choice of targets comes before anything of Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/narrow_multiply.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/narrow_tile_activation-inl.h"
#include "backend/cpu/kernels/narrow_write-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
/// Vectors that are worked on side by side: a part of a row, or some rows.
constexpr int kSide = 4;

/// A block's place in the result.
struct Place {
  const NarrowMatrix& b;
  const NarrowTarget& target;
  const NarrowKernels& kernels;
  std::int64_t column = 0;  ///< first
  int columns = 0;          ///< that exist; the panel may be wider
  int rows = 0;
  std::array<float*, kBlockRows> f32{};  ///< column 0 of each row
  std::array<const float*, kBlockRows> residual{};
  std::byte* packed = nullptr;  ///< of the first row
};

/// The first `count` (1 to kLanes) lanes.
HWY_INLINE void put(hn::Vec<D> y, const float* residual, float* c, int count) {
  const D d;
  if (count >= kLanes) {
    if (residual != nullptr) y = hn::Add(y, hn::LoadU(d, residual));
    hn::StoreU(y, d, c);
  } else if (count > 0) {
    if (residual != nullptr) y = hn::Add(y, LoadPartial(d, residual, count));
    StorePartial(d, y, c, count);
  }
}

/// kSide vectors of sums, from `first` of row `row` on, become numbers: in fp32 where they belong,
/// or in place for conversion.
template <bool kInteger, graph::Activation kActivation>
HWY_INLINE void finish_side(const Place& place, float* sums, int row, int first, int row_vectors) {
  const D d;
  Side<D, kSide> y;
  int rows[kSide];
  int starts[kSide];
  for (int i = 0; i < kSide; ++i) {
    rows[i] = row + (first + i) / row_vectors;
    starts[i] = (first + i) % row_vectors * kLanes;
  }
  y.each([&](int i) HWY_ATTR {
    const float* const sum = sums + rows[i] * kPanelColumns + starts[i];
    const auto bias = hn::Load(d, place.b.bias + place.column + starts[i]);
    if constexpr (kInteger) {
      const hn::RebindToSigned<D> di;
      const auto exact = hn::BitCast(di, hn::Load(d, sum));
      const auto scale = hn::Load(d, place.b.scale + place.column + starts[i]);
      return hn::MulAdd(hn::ConvertTo(d, exact), scale, bias);
    } else {
      return hn::Add(hn::Load(d, sum), bias);
    }
  });
  short_activation<kActivation>(d, y);
  if (place.target.packed != nullptr) {
    for (int i = 0; i < kSide; ++i) {
      hn::Store(y.at[i], d, sums + rows[i] * kPanelColumns + starts[i]);
    }
    return;
  }
  for (int i = 0; i < kSide; ++i) {
    if (rows[i] >= place.rows) continue;
    const auto r = static_cast<std::size_t>(rows[i]);
    const std::int64_t at = place.column + starts[i];
    put(y.at[i], place.residual[r] == nullptr ? nullptr : place.residual[r] + at, place.f32[r] + at,
        place.columns - starts[i]);
  }
}

/// A block of sums, whole vectors of the panel's columns.
template <bool kInteger, graph::Activation kActivation>
void finish(const Place& place, float* sums, int panel_columns) {
  const int row_vectors = panel_columns / kLanes;
  const int vectors = row_vectors * place.rows;
  for (int first = 0; first < vectors; first += kSide) {
    finish_side<kInteger, kActivation>(place, sums, 0, first, row_vectors);
  }
}

using Finish = void (*)(const Place& place, float* sums, int panel_columns);

template <bool kInteger>
Finish finish_of(graph::Activation activation) {
  switch (activation) {
    case graph::Activation::none:
      return &finish<kInteger, graph::Activation::none>;
    case graph::Activation::gelu:
      return &finish<kInteger, graph::Activation::gelu>;
    case graph::Activation::silu:
      return &finish<kInteger, graph::Activation::silu>;
  }
  return nullptr;
}

/// A block's numbers as operands of the next product, and after the last column its padding.
void pack_block(const Place& place, const float* numbers) {
  const NarrowMatrix& next = *place.target.next;
  const bool bf16 = next.precision == graph::Precision::bf16;
  const std::int64_t size = bf16 ? 2 : 1;
  const std::int64_t end = place.column + place.columns;
  for (int r = 0; r < place.rows; ++r) {
    std::byte* const row = place.packed + r * next.row_bytes();
    const float* const x = numbers + r * kPanelColumns;
    if (bf16) {
      place.kernels.to_bf16(x, place.columns, row + place.column * size);
    } else {
      write_u8(next.input, x, place.columns, row + place.column);
    }
    if (end == place.b.n) {
      std::memset(row + end * size, 0, static_cast<std::size_t>(next.row_bytes() - end * size));
    }
  }
}

/// Where rows [row, row + place.rows) of the result are.
void locate(Place& place, std::int64_t row, std::int64_t begin) {
  const NarrowTarget& target = place.target;
  if (target.packed != nullptr) {
    place.packed = target.packed + (row - begin) * target.next->row_bytes();
    return;
  }
  for (int r = 0; r < place.rows; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const std::int64_t line = (row + r) / target.rows;
    const std::int64_t in_line = (row + r) % target.rows;
    place.f32[i] = target.f32 + line * target.line + in_line * target.row;
    if (target.residual != nullptr) {
      place.residual[i] =
          target.residual + line * target.residual_line + in_line * target.residual_row;
    }
  }
}

void multiply_rows_of(const NarrowMatrix& b, const std::byte* a, std::int64_t begin,
                      std::int64_t end, std::int64_t panel_begin, std::int64_t panel_end,
                      const NarrowTarget& target, const NarrowKernels& kernels) {
  const bool bf16 = b.precision == graph::Precision::bf16;
  const auto multiply = bf16 ? kernels.bf16 : kernels.int8;
  const Finish finish =
      bf16 ? finish_of<false>(target.activation) : finish_of<true>(target.activation);
  alignas(64) float sums[kBlockRows * kPanelColumns];
  BlockArgs block;
  block.row_bytes = b.row_bytes();
  block.sums = sums;
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::int64_t column = panel * kPanelColumns;
    const auto columns = static_cast<int>(std::min<std::int64_t>(b.n - column, kPanelColumns));
    block.b = b.data + column * b.row_bytes();
    block.columns = columns > 16 ? kPanelColumns : 16;
    for (std::int64_t row = begin; row < end; row += kBlockRows) {
      block.a = a + (row - begin) * b.row_bytes();
      block.rows = static_cast<int>(std::min<std::int64_t>(end - row, kBlockRows));
      multiply(block);
      Place place{b, target, kernels, column, columns, block.rows};
      locate(place, row, begin);
      finish(place, sums, block.columns);
      if (target.packed != nullptr) pack_block(place, sums);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(multiply_rows_of);

void multiply_rows(const NarrowMatrix& b, const std::byte* a, std::int64_t begin, std::int64_t end,
                   std::int64_t panel_begin, std::int64_t panel_end, const NarrowTarget& target) {
  const NarrowKernels kernels = narrow_kernels();
  if (kernels.enter != nullptr) kernels.enter();
  HWY_DYNAMIC_DISPATCH(multiply_rows_of)
  (b, a, begin, end, panel_begin, panel_end, target, kernels);
  if (kernels.leave != nullptr) kernels.leave();
}

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
