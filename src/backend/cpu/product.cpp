#include "backend/cpu/product.h"

#include <algorithm>
#include <numeric>

#include "graph/rewrite.h"

namespace assay::backend::cpu {
namespace {

constexpr std::int64_t kBlockRows = 32;  ///< of the narrow kernels
/// What packed rows may take of a core's second-level cache, where the weights must fit, too.
constexpr std::int64_t kInFlightBytes = 384 * 1024;

/// Rows [O, I, taps] of `channels` as [O, taps, I]; zeros for a channel past the last.
template <class T>
std::vector<T> channels_last(std::span<const T> weight, std::int64_t in, std::int64_t taps,
                             std::span<const std::int64_t> channels) {
  const std::int64_t each = in * taps;
  std::vector<T> out(channels.size() * static_cast<std::size_t>(each));
  for (std::size_t o = 0; o < channels.size(); ++o) {
    const std::int64_t from = channels[o] * each;
    if (from >= static_cast<std::int64_t>(weight.size())) continue;
    T* const to = out.data() + static_cast<std::int64_t>(o) * each;
    for (std::int64_t i = 0; i < in; ++i) {
      for (std::int64_t t = 0; t < taps; ++t) {
        to[t * in + i] = weight[static_cast<std::size_t>(from + i * taps + t)];
      }
    }
  }
  return out;
}

/// One number a channel, where there are any; `none` for a channel past the last.
std::vector<float> part(std::span<const float> numbers, std::span<const std::int64_t> channels,
                        float none) {
  std::vector<float> out;
  if (numbers.empty()) return out;
  for (const std::int64_t channel : channels) {
    const auto index = static_cast<std::size_t>(channel);
    out.push_back(index < numbers.size() ? numbers[index] : none);
  }
  return out;
}

/// The worker's share of a narrow product: its rows where there are enough for everyone, else its
/// panels, and then every worker packs all rows.
GemmShare narrow_share(const NarrowMatrix& b, std::int64_t rows, const Worker& worker) {
  const std::int64_t panels = panel_count(b);
  if (rows >= kBlockRows / 2 * worker.count) {
    const Range mine = share(rows, worker);
    return {mine.begin, mine.end, 0, panels};
  }
  const Range mine = share(panels, worker);
  return {0, rows, mine.begin, mine.end};
}

/// A share of a narrow product, as many rows at a time as may be in flight.
void multiply_narrow(const NarrowMatrix& b, const GemmArgs& args, const RowNorm& norm,
                     const GemmShare& mine, float* scratch) {
  NarrowSource source = narrow_source(args);
  source.norm = norm;
  const NarrowTarget target = narrow_target(args);
  const std::int64_t step = rows_in_flight(b.row_bytes(), args.lines * args.rows);
  std::byte* const packed = reinterpret_cast<std::byte*>(scratch);
  for (std::int64_t row = mine.row_begin; row < mine.row_end; row += step) {
    const std::int64_t end = std::min(row + step, mine.row_end);
    pack_rows(b, source, row, end, packed);
    multiply_rows(b, packed, row, end, mine.panel_begin, mine.panel_end, target);
  }
}

}  // namespace

bool has_residual(const graph::Node& node) {
  return graph::input_or_none(node, kResidualInput) != graph::kNone;
}

std::vector<std::int64_t> channel_range(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> channels(static_cast<std::size_t>(count));
  std::iota(channels.begin(), channels.end(), first);
  return channels;
}

Weights pack_weights(Lowering& lowering, const graph::Node& node,
                     std::span<const std::int64_t> channels) {
  const graph::Value& value = lowering.graph().value(node.inputs[kWeightInput]);
  const std::int64_t in = value.dims[1];
  std::int64_t taps = 1;
  for (std::size_t i = 2; i < value.dims.size(); ++i) taps *= value.dims[i];
  const auto count = static_cast<std::int64_t>(channels.size());
  const std::vector<float> bias =
      part(lowering.optional_weight(node, kBiasInput, "bias"), channels, 0.0F);
  Weights weights;
  if (node.precision == graph::Precision::int8) {
    const std::span<const std::byte> bytes = value.constant->bytes;
    const std::span<const std::int8_t> stored(reinterpret_cast<const std::int8_t*>(bytes.data()),
                                              bytes.size());
    weights.narrow = std::make_shared<const NarrowMatrix>(
        pack_int8(channels_last(stored, in, taps, channels),
                  part(lowering.weight(node, kWeightScaleInput, "weight scale"), channels, 1.0F),
                  bias, count, in * taps, node.input_quantization, lowering.constants()));
    return weights;
  }
  const std::vector<float> numbers = lowering.weight(node, kWeightInput, "weight");
  const std::vector<float> ordered = channels_last(std::span(numbers), in, taps, channels);
  if (node.precision == graph::Precision::bf16) {
    weights.narrow = std::make_shared<const NarrowMatrix>(
        pack_bf16(ordered, bias, count, in * taps, lowering.constants()));
  } else {
    weights.wide = std::make_shared<const PackedMatrix>(
        pack_matrix(ordered, bias, count, in * taps, lowering.constants()));
  }
  return weights;
}

std::int64_t rows_in_flight(std::int64_t row_bytes, std::int64_t rows) {
  const std::int64_t fit = std::max<std::int64_t>(kInFlightBytes / row_bytes / kBlockRows, 1);
  const std::int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  return std::min(fit, blocks) * kBlockRows;
}

std::int64_t packed_floats(std::int64_t rows, std::int64_t row_bytes) {
  const std::int64_t padded = (rows + kBlockRows - 1) / kBlockRows * kBlockRows;
  return padded * row_bytes / static_cast<std::int64_t>(sizeof(float));
}

NarrowSource narrow_source(const GemmArgs& args) {
  NarrowSource source;
  source.a = args.a;
  source.rows = args.rows;
  source.a_line = args.a_line;
  source.a_row = args.a_row;
  source.segment_offsets = args.segment_offsets;
  source.segment_length = args.segment_length;
  return source;
}

NarrowTarget narrow_target(const GemmArgs& args) {
  NarrowTarget target;
  target.f32 = args.c;
  target.rows = args.rows;
  target.line = args.c_line;
  target.row = args.c_row;
  target.residual = args.residual;
  target.residual_line = args.residual_line;
  target.residual_row = args.residual_row;
  target.activation = args.activation;
  return target;
}

std::string tactic_of(const graph::Node& node, std::string_view name) {
  if (node.precision == graph::Precision::fp32) return std::string(name);
  return std::string(name).append(" ").append(graph::name(node.precision));
}

std::vector<Place> places_of(const Product& product) {
  std::vector<Place> places{product.a, product.c};
  if (product.residual.block >= 0) places.push_back(product.residual);
  return places;
}

std::int64_t choose_bytes_in_flight(Lowering& lowering, const graph::Node& node) {
  const std::string chosen =
      lowering.choose(node, {"256 KiB in flight", "64 KiB in flight", "128 KiB in flight",
                             "512 KiB in flight", "1024 KiB in flight"});
  return std::stoll(chosen) * 1024;
}

const float* keep(Lowering& lowering, std::span<const float> numbers) {
  if (numbers.empty()) return nullptr;
  float* const kept = lowering.constants().allocate(numbers.size());
  std::ranges::copy(numbers, kept);
  return kept;
}

GemmArgs Product::resolved(const RunContext& context) const {
  GemmArgs now = args;
  now.segment_offsets = *segments;
  now.a = context.read(a);
  now.c = context.write(c);
  if (residual.block >= 0) now.residual = context.read(residual);
  return now;
}

void Product::run(const RunContext& context, const Worker& worker) const {
  const GemmArgs now = resolved(context);
  if (weights.wide != nullptr) {
    gemm(*weights.wide, now, gemm_share(*weights.wide, now, worker.index, worker.count));
    return;
  }
  const NarrowMatrix& b = *weights.narrow;
  multiply_narrow(b, now, norm, narrow_share(b, now.lines * now.rows, worker), context.scratch);
}

std::int64_t Product::scratch() const {
  if (weights.narrow == nullptr) return 0;
  const std::int64_t row_bytes = weights.narrow->row_bytes();
  return packed_floats(rows_in_flight(row_bytes, args.lines * args.rows), row_bytes);
}

}  // namespace assay::backend::cpu
