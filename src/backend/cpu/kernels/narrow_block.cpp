// Blocks of sums for machines without instructions for dot products of narrow operands: bf16 pairs
// are expanded to fp32, bytes are widened to 16 bits and multiplied exactly.
#include "backend/cpu/kernels/narrow_block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

// The choice of targets comes before anything of Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/narrow_block.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backend/cpu/kernels/narrow_write-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lanes of 32 bits: each holds one column's operands of B or a row's of A, four bytes of k.
using Tag = hn::CappedTag<std::uint32_t, 16>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));
// A strip's sums and two vectors' operands fit the registers.
constexpr int kStripRows = kLanes == 16 ? 8 : 4;

HWY_INLINE std::uint32_t word_at(const std::byte* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

/// Pairs of bf16: the lower half is the first.
struct Bf16Dot {
  using Sum = hn::Vec<hn::RebindToFloat<Tag>>;
  struct Operand {
    Sum even, odd;
  };
  static HWY_INLINE Sum zero() { return hn::Zero(hn::RebindToFloat<Tag>()); }
  static HWY_INLINE Operand expand(hn::Vec<Tag> words) {
    const hn::RebindToFloat<Tag> df;
    return {hn::BitCast(df, hn::ShiftLeft<16>(words)),
            hn::BitCast(df, hn::And(words, hn::Set(Tag(), 0xFFFF0000U)))};
  }
  static HWY_INLINE Operand expand_a(hn::Vec<Tag> words) { return expand(words); }
  static HWY_INLINE Operand expand_b(hn::Vec<Tag> words) { return expand(words); }
  static HWY_INLINE Sum add(const Operand& a, const Operand& b, Sum sum) {
    return hn::MulAdd(a.odd, b.odd, hn::MulAdd(a.even, b.even, sum));
  }
};

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && HWY_ARCH_X86
/// Four bytes of k as two pairs of 16 bits, k = 0 and 2, 1 and 3: an instruction multiplies pairs
/// and adds the two products, exactly.
struct Int8Dot {
  using Sum = hn::Vec<hn::RebindToSigned<Tag>>;
  using Pairs = hn::Repartition<std::int16_t, Tag>;
  struct Operand {
    hn::Vec<Pairs> even, odd;
  };
  static HWY_INLINE Sum zero() { return hn::Zero(hn::RebindToSigned<Tag>()); }
  static HWY_INLINE Operand expand_a(hn::Vec<Tag> words) {
    const hn::Repartition<std::uint16_t, Tag> du;
    const auto halves = hn::BitCast(du, words);
    return {hn::BitCast(Pairs(), hn::And(halves, hn::Set(du, std::uint16_t{0xFF}))),
            hn::BitCast(Pairs(), hn::ShiftRight<8>(halves))};
  }
  static HWY_INLINE Operand expand_b(hn::Vec<Tag> words) {
    const auto halves = hn::BitCast(Pairs(), words);
    return {hn::ShiftRight<8>(hn::ShiftLeft<8>(halves)), hn::ShiftRight<8>(halves)};
  }
  static HWY_INLINE Sum add(const Operand& a, const Operand& b, Sum sum) {
    const hn::RebindToSigned<Tag> di;
    Sum unused = zero();
    sum = hn::ReorderWidenMulAccumulate(di, a.even, b.even, sum, unused);
    return hn::ReorderWidenMulAccumulate(di, a.odd, b.odd, sum, unused);
  }
};
#else
/// Four bytes of k, each widened to 32 bits.
struct Int8Dot {
  using Sum = hn::Vec<hn::RebindToSigned<Tag>>;
  struct Operand {
    Sum at[4];
  };
  static HWY_INLINE Sum zero() { return hn::Zero(hn::RebindToSigned<Tag>()); }
  static HWY_INLINE Operand expand_a(hn::Vec<Tag> words) {
    const hn::RebindToSigned<Tag> di;
    const auto byte = hn::Set(Tag(), 0xFFU);
    return {{hn::BitCast(di, hn::And(words, byte)),
             hn::BitCast(di, hn::And(hn::ShiftRight<8>(words), byte)),
             hn::BitCast(di, hn::And(hn::ShiftRight<16>(words), byte)),
             hn::BitCast(di, hn::ShiftRight<24>(words))}};
  }
  static HWY_INLINE Operand expand_b(hn::Vec<Tag> words) {
    const auto bytes = hn::BitCast(hn::RebindToSigned<Tag>(), words);
    return {{hn::ShiftRight<24>(hn::ShiftLeft<24>(bytes)),
             hn::ShiftRight<24>(hn::ShiftLeft<16>(bytes)),
             hn::ShiftRight<24>(hn::ShiftLeft<8>(bytes)), hn::ShiftRight<24>(bytes)}};
  }
  static HWY_INLINE Sum add(const Operand& a, const Operand& b, Sum sum) {
    for (int i = 0; i < 4; ++i) sum = hn::Add(sum, hn::Mul(a.at[i], b.at[i]));
    return sum;
  }
};
#endif

/// function(0), function(1), ... with the index known to the compiler at once: gemm_micro-inl.h
/// says why.
template <int... kIndices, class Function>
HWY_INLINE void unrolled(std::integer_sequence<int, kIndices...>, const Function& function) {
  (function(std::integral_constant<int, kIndices>()), ...);
}
template <int kCount, class Function>
HWY_INLINE void unrolled(const Function& function) {
  unrolled(std::make_integer_sequence<int, kCount>(), function);
}

/// kRows rows of one strip of columns, whose first sum is at `sums` and first operands at `b`.
template <class Dot, int kRows, int kVectors>
HWY_NOINLINE void strip(const BlockArgs& args, const std::byte* a, const std::byte* b,
                        std::uint32_t* sums) {
  const Tag d;
  typename Dot::Sum sum[kRows][kVectors];
  unrolled<kRows>([&](auto r) HWY_ATTR {
    unrolled<kVectors>([&](auto v) HWY_ATTR { sum[r][v] = Dot::zero(); });
  });
  for (std::int64_t k = 0; k < args.row_bytes; k += 4) {
    typename Dot::Operand column[kVectors];
    unrolled<kVectors>([&](auto v) HWY_ATTR {
      column[v] = Dot::expand_b(hn::Load(
          d, reinterpret_cast<const std::uint32_t*>(b) + k / 4 * args.columns + v * kLanes));
    });
    unrolled<kRows>([&](auto r) HWY_ATTR {
      const auto row = Dot::expand_a(hn::Set(d, word_at(a + r * args.row_bytes + k)));
      unrolled<kVectors>([&](auto v) HWY_ATTR { sum[r][v] = Dot::add(row, column[v], sum[r][v]); });
    });
  }
  unrolled<kRows>([&](auto r) HWY_ATTR {
    unrolled<kVectors>([&](auto v) HWY_ATTR {
      hn::Store(hn::BitCast(d, sum[r][v]), d, sums + r * kPanelColumns + v * kLanes);
    });
  });
}

template <class Dot, int kVectors>
void strips(const BlockArgs& args) {
  auto* const sums = static_cast<std::uint32_t*>(args.sums);
  for (int row = 0; row < args.rows; row += kStripRows) {
    const std::byte* const a = args.a + row * args.row_bytes;
    for (int column = 0; column < args.columns; column += kVectors * kLanes) {
      // Rows past the last are readable, and their sums have room.
      strip<Dot, kStripRows, kVectors>(args, a, args.b + column * 4,
                                       sums + row * kPanelColumns + column);
    }
  }
}
template <class Dot>
void block(const BlockArgs& args) {
  args.columns % (2 * kLanes) == 0 ? strips<Dot, 2>(args) : strips<Dot, 1>(args);
}

void bf16_block(const BlockArgs& args) { block<Bf16Dot>(args); }
void int8_block(const BlockArgs& args) { block<Int8Dot>(args); }

NarrowKernels kernels() {
  NarrowKernels kernels;
  kernels.bf16 = &bf16_block;
  kernels.int8 = &int8_block;
  kernels.to_bf16 = &write_bf16;
  return kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(kernels);

NarrowKernels plain_narrow_kernels() { return HWY_DYNAMIC_DISPATCH(kernels)(); }

}  // namespace assay::backend::cpu
#endif  // HWY_ONCE
