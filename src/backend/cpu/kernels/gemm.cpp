#include "backend/cpu/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <utility>

// The choice of targets comes before anything of Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "backend/cpu/kernels/gemm_micro-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {

using Micro = void (*)(const MicroArgs& args);

/// kMicros[units - 1][rows - 1], null past the rows that the registers hold.
template <int kUnits, int... kRows>
constexpr std::array<Micro, kMaxRows> micros_of(std::integer_sequence<int, kRows...>) {
  return {(kRows < rows_of(kUnits) ? &multiply<kUnits, std::min(kRows + 1, rows_of(kUnits))>
                                   : nullptr)...};
}
template <int... kUnits>
constexpr std::array<std::array<Micro, kMaxRows>, sizeof...(kUnits)> all_micros(
    std::integer_sequence<int, kUnits...>) {
  return {micros_of<kUnits + 1>(std::make_integer_sequence<int, kMaxRows>())...};
}
constexpr auto kMicros = all_micros(std::make_integer_sequence<int, kMaxUnits>());

GemmShape shape() {
  GemmShape shape;
  shape.unit = kUnit;
  shape.max_units = kMaxUnits;
  for (int units = 1; units <= kMaxUnits; ++units)
    shape.rows[static_cast<std::size_t>(units)] = rows_of(units);
  return shape;
}

/// Fetches memory into the second-level cache a piece at a time, while something else is computed.
class Prefetcher {
 public:
  Prefetcher(const float* begin, std::int64_t floats, std::int64_t pieces)
      : next_(begin), end_(begin + floats), piece_(floats / pieces / kLine + 1) {}

  void fetch_piece() {
    for (std::int64_t i = 0; i < piece_ && next_ < end_; ++i, next_ += kLine) {
      __builtin_prefetch(next_, 0, 2);
    }
  }

 private:
  static constexpr std::int64_t kLine = kAlignment / sizeof(float);
  const float* next_;
  const float* end_;
  std::int64_t piece_;
};

/// One panel times `rows` rows of one line, in strips whose heights differ by one row at most.
void run_line(MicroArgs micro, const std::array<Micro, kMaxRows>& kernels, int max_rows,
              std::int64_t rows, Prefetcher& next) {
  const std::int64_t strips = (rows + max_rows - 1) / max_rows;
  const std::int64_t height = rows / strips;
  const std::int64_t higher = rows % strips;
  for (std::int64_t s = 0; s < strips; ++s) {
    const std::int64_t count = height + (s < higher ? 1 : 0);
    next.fetch_piece();
    kernels[static_cast<std::size_t>(count - 1)](micro);
    micro.a += count * micro.a_row;
    micro.c += count * micro.c_row;
    if (micro.residual != nullptr) micro.residual += count * micro.residual_row;
  }
}

void run_share(const PackedMatrix& b, const GemmArgs& args, const GemmShare& share) {
  if (share.row_begin == share.row_end) return;  // more workers than rows
  MicroArgs micro;
  micro.a_row = args.a_row;
  micro.segments = args.segment_offsets;
  micro.segment_length = args.segment_length;
  micro.c_row = args.c_row;
  micro.residual_row = args.residual_row;
  micro.activation = args.activation;
  for (std::int64_t p = share.panel_begin; p < share.panel_end; ++p) {
    const Panel& panel = b.panels[static_cast<std::size_t>(p)];
    micro.b = b.data + panel.offset;
    micro.bias = b.bias + panel.column;
    micro.columns = std::min<std::int64_t>(b.n - panel.column, panel.units * kUnit);
    const auto& kernels = kMicros[static_cast<std::size_t>(panel.units - 1)];
    // Weights come from far away: a network's do not fit in a core's cache. While the rows pass
    // under this panel, the next one is fetched.
    const std::int64_t height = rows_of(panel.units);
    const Panel* const next = p + 1 < share.panel_end ? &panel + 1 : nullptr;
    Prefetcher prefetcher(next == nullptr ? micro.b : b.data + next->offset,
                          next == nullptr ? 0 : next->units * kUnit * b.k,
                          (share.row_end - share.row_begin + height - 1) / height);
    for (std::int64_t row = share.row_begin; row < share.row_end;) {
      const std::int64_t line = row / args.rows;
      const std::int64_t begin = row % args.rows;
      const std::int64_t count = std::min(args.rows - begin, share.row_end - row);
      micro.a = args.a + line * args.a_line + begin * args.a_row;
      micro.c = args.c + line * args.c_line + begin * args.c_row + panel.column;
      if (args.residual != nullptr) {
        micro.residual =
            args.residual + line * args.residual_line + begin * args.residual_row + panel.column;
      }
      run_line(micro, kernels, rows_of(panel.units), count, prefetcher);
      row += count;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::backend::cpu {

HWY_EXPORT(run_share);
HWY_EXPORT(shape);

GemmShape gemm_shape() { return HWY_DYNAMIC_DISPATCH(shape)(); }

void gemm(const PackedMatrix& b, const GemmArgs& args, const GemmShare& share) {
  HWY_DYNAMIC_DISPATCH(run_share)(b, args, share);
}

}  // namespace assay::backend::cpu
#endif
