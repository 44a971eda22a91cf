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
/// Rows of a block that are finished at a time, and vectors of them that are worked on side by
/// side.
constexpr int kPieceRows = 4;
constexpr int kSide = kLanes == 16 ? 8 : 4;
constexpr int kPieces = kBlockRows / kPieceRows;
constexpr int kInFlight = 3;
/// Products over rows of up to so many bytes wait for their results' lines more than for operands:
/// the lines are fetched two blocks before they are written.
constexpr std::int64_t kShortRow = 512;

/// A block of sums and its place in the result.
struct Block : Pending {
  const NarrowMatrix* b = nullptr;
  const NarrowTarget* target = nullptr;
  void (*to_bf16)(const ConvertArgs& args) = nullptr;
  std::int64_t column = 0;  ///< first
  int columns = 0;          ///< that exist; the panel may be wider
  int rows = 0;
  int row = 0;  ///< the next piece's first
  float* sums = nullptr;
  std::array<float*, kBlockRows> f32{};  ///< the first column of each row
  std::array<const float*, kBlockRows> residual{};
  std::byte* packed = nullptr;  ///< the first column of the first row
};

/// The first `count` lanes.
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

enum class Output { f32, bf16, u8 };

/// The next kPieceRows rows of a block whose panel has kColumns columns.
template <bool kInteger, graph::Activation kActivation, Output kOutput, int kColumns>
void finish_piece(Pending& pending) {
  auto& block = static_cast<Block&>(pending);
  const D d;
  constexpr int kRowVectors = kColumns / kLanes;
  constexpr int kVectors = kPieceRows * kRowVectors;
  constexpr int kGroup = std::min(kSide, kVectors);
  const int first_row = block.row;
  block.row += kPieceRows;
  float* const sums = block.sums + first_row * kPanelColumns;
  const float* const bias = block.b->bias + block.column;
  [[maybe_unused]] const float* const scale = kInteger ? block.b->scale + block.column : nullptr;
  [[maybe_unused]] const std::int64_t packed_row =
      kOutput == Output::f32 ? 0 : block.target->next->row_bytes();
  // A copy: no store of bytes can change it, so that it stays in registers.
  [[maybe_unused]] const numerics::AffineU8 format =
      kOutput == Output::u8 ? block.target->next->input : numerics::AffineU8();
  for (int first = 0; first < kVectors; first += kGroup) {
    Side<D, kGroup> y;
    y.each([&](int i) HWY_ATTR {
      const int start = (first + i) % kRowVectors * kLanes;
      const float* const sum = sums + (first + i) / kRowVectors * kPanelColumns + start;
      if constexpr (kInteger) {
        const hn::RebindToSigned<D> di;
        const auto exact = hn::BitCast(di, hn::Load(d, sum));
        return hn::MulAdd(hn::ConvertTo(d, exact), hn::Load(d, scale + start),
                          hn::Load(d, bias + start));
      } else {
        return hn::Add(hn::Load(d, sum), hn::Load(d, bias + start));
      }
    });
    short_activation<kActivation>(d, y);
    const auto row_of = [=](int i) { return first_row + (first + i) / kRowVectors; };
    const auto start_of = [=](int i) { return (first + i) % kRowVectors * kLanes; };
    if constexpr (kOutput == Output::u8) {
      HWY_ALIGN std::byte codes[kGroup * kLanes];
      store_codes(d, y, format, codes);
      for (int i = 0; i < kGroup && row_of(i) < block.rows; ++i) {
        std::memcpy(block.packed + row_of(i) * packed_row + start_of(i), codes + i * kLanes,
                    kLanes);
      }
    } else if constexpr (kOutput == Output::bf16) {
      for (int i = 0; i < kGroup; ++i) {
        hn::Store(y.at[i], d, block.sums + row_of(i) * kPanelColumns + start_of(i));
      }
    } else {
      for (int i = 0; i < kGroup && row_of(i) < block.rows; ++i) {
        const auto r = static_cast<std::size_t>(row_of(i));
        const float* const residual = block.residual[r];
        put(y.at[i], residual == nullptr ? nullptr : residual + start_of(i),
            block.f32[r] + start_of(i), block.columns - start_of(i));
      }
    }
  }
  if constexpr (kOutput == Output::bf16) {
    block.to_bf16({sums, kPanelColumns, std::min(kPieceRows, block.rows - first_row), kColumns,
                   block.packed + first_row * packed_row, packed_row});
  }
}

using Piece = void (*)(Pending& pending);

template <bool kInteger, Output kOutput, int kColumns>
Piece piece_of(graph::Activation activation) {
  using graph::Activation;
  switch (activation) {
    case Activation::none:
      return &finish_piece<kInteger, Activation::none, kOutput, kColumns>;
    case Activation::gelu:
      return &finish_piece<kInteger, Activation::gelu, kOutput, kColumns>;
    case Activation::silu:
      return &finish_piece<kInteger, Activation::silu, kOutput, kColumns>;
  }
  return nullptr;
}
template <bool kInteger, int kColumns>
Piece piece_of(const NarrowTarget& target) {
  if (target.packed == nullptr) return piece_of<kInteger, Output::f32, kColumns>(target.activation);
  return target.next->precision == graph::Precision::bf16
             ? piece_of<kInteger, Output::bf16, kColumns>(target.activation)
             : piece_of<kInteger, Output::u8, kColumns>(target.activation);
}
Piece piece_of(bool integer, int columns, const NarrowTarget& target) {
  if (columns == kPanelColumns) {
    return integer ? piece_of<true, kPanelColumns>(target) : piece_of<false, kPanelColumns>(target);
  }
  return integer ? piece_of<true, 16>(target) : piece_of<false, 16>(target);
}

/// Finds a block's rows, the first of which is row `row`, in the result.
void locate(Block& block, std::int64_t row, std::int64_t begin) {
  const NarrowTarget& target = *block.target;
  if (target.packed != nullptr) {
    const NarrowMatrix& next = *target.next;
    const std::int64_t size = next.precision == graph::Precision::bf16 ? 2 : 1;
    block.packed = target.packed + (row - begin) * next.row_bytes() + block.column * size;
    return;
  }
  const bool fetch = block.b->row_bytes() <= kShortRow;
  std::int64_t line = row / target.rows;
  std::int64_t in_line = row % target.rows;
  for (int r = 0; r < block.rows; ++line, in_line = 0) {
    float* c = target.f32 + line * target.line + in_line * target.row + block.column;
    const float* residual = target.residual;
    if (residual != nullptr) {
      residual += line * target.residual_line + in_line * target.residual_row + block.column;
    }
    const auto end =
        static_cast<int>(std::min<std::int64_t>(block.rows, r + target.rows - in_line));
    for (; r < end; ++r, c += target.row) {
      block.f32[static_cast<std::size_t>(r)] = c;
      if (fetch) {
        __builtin_prefetch(c, 1, 2);
        __builtin_prefetch(c + 16, 1, 2);
      }
      block.residual[static_cast<std::size_t>(r)] = residual;
      if (residual != nullptr) residual += target.residual_row;
    }
  }
}

/// Does what is left of a block, and after the last column the padding of its packed rows.
void complete(Block& block) {
  block.run(kPieces);
  if (block.packed == nullptr || block.column + block.columns != block.b->n) return;
  const NarrowMatrix& next = *block.target->next;
  const std::int64_t size = next.precision == graph::Precision::bf16 ? 2 : 1;
  const auto padding = static_cast<std::size_t>((next.k_padded - next.k) * size);
  for (int r = 0; r < block.rows && padding > 0; ++r) {
    std::memset(block.packed + r * next.row_bytes() + block.columns * size, 0, padding);
  }
}

void multiply_rows_of(const NarrowMatrix& b, const std::byte* a, std::int64_t begin,
                      std::int64_t end, std::int64_t panel_begin, std::int64_t panel_end,
                      const NarrowTarget& target, const NarrowKernels& kernels) {
  const bool integer = b.precision == graph::Precision::int8;
  const auto multiply = integer ? kernels.int8 : kernels.bf16;
  // While one block is multiplied, the last but one is finished: the last one's sums are still on
  // their way to the cache.
  alignas(64) float sums[kInFlight][kBlockRows * kPanelColumns];
  Block blocks[kInFlight];
  for (int i = 0; i < kInFlight; ++i) {
    blocks[i].b = &b;
    blocks[i].target = &target;
    blocks[i].to_bf16 = kernels.to_bf16;
    blocks[i].sums = sums[i];
  }
  int turn = 0;
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const std::int64_t column = panel * kPanelColumns;
    const auto columns = static_cast<int>(std::min<std::int64_t>(b.n - column, kPanelColumns));
    const int width = columns > 16 ? kPanelColumns : 16;
    const Piece piece = piece_of(integer, width, target);
    for (std::int64_t row = begin; row < end; row += kBlockRows, turn = (turn + 1) % kInFlight) {
      Block& block = blocks[turn];
      Block& before = blocks[(turn + 1) % kInFlight];
      const auto rows = static_cast<int>(std::min<std::int64_t>(end - row, kBlockRows));
      multiply({a + (row - begin) * b.row_bytes(), b.row_bytes(), b.data + column * b.row_bytes(),
                rows, width, block.sums, &before});
      if (before.piece != nullptr) complete(before);
      block.piece = piece;
      block.left = (rows + kPieceRows - 1) / kPieceRows;
      block.column = column;
      block.columns = columns;
      block.rows = rows;
      block.row = 0;
      locate(block, row, begin);
    }
  }
  for (int i = 1; i < kInFlight; ++i) {
    Block& last = blocks[(turn + i) % kInFlight];
    if (last.piece != nullptr) complete(last);
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
