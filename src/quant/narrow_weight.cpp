#include "quant/narrow_weight.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "numerics/bf16.h"
#include "numerics/e4m3.h"
#include "numerics/fp16.h"
#include "numerics/nvfp4.h"
#include "quant/scales.h"

namespace assay::quant {
namespace {

using graph::Precision;
using numerics::E2m1;
using numerics::E4m3;
using numerics::Nvfp4;

static_assert(Nvfp4::kBlock == graph::kBlock);

/// One format with a scale for several numbers: its largest number, its nearest code, and the
/// factors on the plain scale that a search tries, the plain one first.
struct Int8 {
  using Code = std::int8_t;
  static constexpr double kLargest = 127;
  static Code encode(double number) {
    return static_cast<Code>(std::clamp(std::nearbyint(number), -kLargest, kLargest));
  }
  static double decode(Code code) { return code; }
  static std::vector<double> factors() {
    std::vector<double> factors;
    for (int i = 64; i >= 24; --i) factors.push_back(i / 64.0);
    return factors;
  }
};
struct Fp8 {
  using Code = E4m3::Code;
  static constexpr double kLargest = E4m3::largest();
  static Code encode(double number) { return E4m3::encode(static_cast<float>(number)); }
  static double decode(Code code) { return E4m3::decode(code); }
  static std::vector<double> factors() {
    std::vector<double> factors{1.0};
    for (int i = 1; i <= 16; ++i) {
      factors.push_back(std::exp2(-i / 16.0));
      factors.push_back(std::exp2(i / 16.0));
    }
    return factors;
  }
};

template <typename Format>
double squared_error(std::span<const float> numbers, double scale) {
  double sum = 0;
  for (const float number : numbers) {
    const double error = number - scale * Format::decode(Format::encode(number / scale));
    sum += error * error;
  }
  return sum;
}

template <typename Format>
float scale_for(std::span<const float> numbers, WeightObserver observer) {
  const auto plain = static_cast<float>(largest_magnitude(numbers) / Format::kLargest);
  if (plain < kSmallestScale) return 1.0F;
  if (observer == WeightObserver::max) return plain;
  float best = plain;
  double least = std::numeric_limits<double>::infinity();
  for (const double factor : Format::factors()) {
    const auto scale = static_cast<float>(plain * factor);
    if (!std::isnormal(scale) || !std::isfinite(1 / scale)) continue;
    const double error = squared_error<Format>(numbers, scale);
    if (error >= least) continue;
    least = error;
    best = scale;
  }
  return best;
}

template <typename Format>
graph::Constant halves(std::span<const float> numbers, Precision precision,
                       std::string_view layer) {
  std::vector<typename Format::Code> codes;
  codes.reserve(numbers.size());
  for (const float number : numbers) {
    codes.push_back(Format::encode(number));
    if (!std::isfinite(Format::decode(codes.back()))) {
      fail(
          ErrorKind::bad_input,
          "layer '{}': its weight holds {}, which is infinite in {}; keep the layer at fp32 with a "
          "rule",
          layer, number, graph::name(precision));
    }
  }
  return graph::make_constant(precision == Precision::fp16 ? DType::f16 : DType::bf16,
                              std::as_bytes(std::span(codes)));
}

/// One scale in all or one a channel.
template <typename Format>
NarrowWeight scaled(std::span<const float> numbers, std::size_t channels, const WeightRule& rule,
                    DType dtype) {
  const std::size_t groups = rule.granularity == Granularity::tensor ? 1 : channels;
  const std::size_t each = numbers.size() / groups;
  std::vector<typename Format::Code> codes;
  codes.reserve(numbers.size());
  std::vector<float> scales;
  for (std::size_t group = 0; group < groups; ++group) {
    const auto part = numbers.subspan(group * each, each);
    const float scale = scale_for<Format>(part, rule.observer);
    for (const float number : part) codes.push_back(Format::encode(double{number} / scale));
    scales.push_back(scale);
  }
  return {graph::make_constant(dtype, std::as_bytes(std::span(codes))),
          graph::Value{
              "", {static_cast<std::int64_t>(groups)}, graph::make_constant(std::move(scales))},
          std::nullopt};
}

double block_error(std::span<const float> block, E4m3::Code scale, float tensor_scale) {
  std::array<E2m1::Code, Nvfp4::kBlock> codes{};
  Nvfp4::encode(block, scale, tensor_scale, codes);
  double sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const double error = double{block[i]} - Nvfp4::decode(codes[i], scale, tensor_scale);
    sum += error * error;
  }
  return sum;
}

E4m3::Code block_scale(std::span<const float> block, float tensor_scale, WeightObserver observer) {
  constexpr int kReach = 4;
  const E4m3::Code plain = Nvfp4::block_scale(block, tensor_scale);
  if (observer == WeightObserver::max) return plain;
  E4m3::Code best = plain;
  double least = block_error(block, plain, tensor_scale);
  for (int step = -kReach; step <= kReach; ++step) {
    const int code = plain + step;
    if (code < 0 || code > static_cast<int>(E4m3::kMax)) continue;
    const double error = block_error(block, static_cast<E4m3::Code>(code), tensor_scale);
    if (error >= least) continue;
    least = error;
    best = static_cast<E4m3::Code>(code);
  }
  return best;
}

/// Two codes a byte, the first in the lower half; channels follow one another without padding.
std::vector<std::uint8_t> packed(std::span<const E2m1::Code> codes) {
  constexpr unsigned kBits = 4;
  std::vector<std::uint8_t> bytes((codes.size() + 1) / 2, 0);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const unsigned code = codes[i];
    bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] | (i % 2 == 0 ? code : code << kBits));
  }
  return bytes;
}

NarrowWeight blocks(std::span<const float> numbers, std::size_t channels, WeightObserver observer) {
  constexpr auto kEach = static_cast<std::size_t>(Nvfp4::kBlock);
  const std::size_t depth = numbers.size() / channels;
  const float tensor_scale = Nvfp4::tensor_scale(largest_magnitude(numbers));
  std::vector<E2m1::Code> codes(numbers.size());
  std::vector<E4m3::Code> scales;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t begin = 0; begin < depth; begin += kEach) {
      const std::size_t size = std::min(kEach, depth - begin);
      const auto block = numbers.subspan(channel * depth + begin, size);
      scales.push_back(block_scale(block, tensor_scale, observer));
      Nvfp4::encode(block, scales.back(), tensor_scale,
                    std::span(codes).subspan(channel * depth + begin, size));
    }
  }
  const graph::Dims dims{static_cast<std::int64_t>(channels),
                         static_cast<std::int64_t>(scales.size() / channels)};
  const std::vector<std::uint8_t> bytes = packed(codes);
  return {graph::make_constant(DType::f4, std::as_bytes(std::span(bytes))),
          graph::Value{"", dims,
                       graph::make_constant(DType::f8_e4m3, std::as_bytes(std::span(scales)))},
          graph::Value{"", {1}, graph::make_constant({tensor_scale})}};
}

}  // namespace

NarrowWeight narrow_weight(std::span<const float> numbers, const graph::Dims& dims,
                           Precision precision, const WeightRule& rule, std::string_view layer) {
  const auto channels = static_cast<std::size_t>(dims[0]);
  const std::int64_t depth = static_cast<std::int64_t>(numbers.size() / channels);
  switch (precision) {
    case Precision::fp16:
      return {halves<numerics::Fp16>(numbers, precision, layer), {}, {}};
    case Precision::bf16:
      return {halves<numerics::Bf16>(numbers, precision, layer), {}, {}};
    case Precision::int8:
      if (depth > graph::kMaxInt8Depth) {
        fail(ErrorKind::unsupported, "layer '{}' adds up {} products; at int8 {} fit its sums",
             layer, depth, graph::kMaxInt8Depth);
      }
      return scaled<Int8>(numbers, channels, rule, DType::i8);
    case Precision::fp8:
      return scaled<Fp8>(numbers, channels, rule, DType::f8_e4m3);
    case Precision::nvfp4:
      return blocks(numbers, channels, rule.observer);
    case Precision::fp32:
      break;
  }
  fail(ErrorKind::internal, "layer '{}': no narrow weight at fp32", layer);
}

}  // namespace assay::quant
