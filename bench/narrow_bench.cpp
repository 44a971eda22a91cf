/// Times narrow products of the supported networks' shapes on one core, on the instruction set that
/// ASSAY_CPU_ISA names or the best: `pack` the conversion of rows alone, `multiply` the product of
/// rows that are packed, `product` both, a stretch of rows at a time as a plan does it. Weights and
/// activations are several copies that together exceed the second-level cache, used in turn. Each
/// case is first compared with the portable kernels. The counters are the least time of a call,
/// its GOP/s and their share of what the instruction set can do in registers.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/aligned_buffer.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/narrow.h"
#include "backend/cpu/peak.h"
#include "numerics/bf16.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;
using graph::Precision;

struct Case {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t size = 0;  ///< of a square image under a 3 × 3 kernel, or 0: rows lie side by side
  std::int64_t channels = 0;
  std::int64_t n = 0;
  Activation activation = Activation::none;
  bool norm = false;
  bool residual = false;
  bool packed = false;  ///< into the operands of a product
  [[nodiscard]] std::int64_t k() const { return size == 0 ? channels : 9 * channels; }
  /// With a margin of one around an image.
  [[nodiscard]] std::int64_t inputs() const {
    return size == 0 ? rows * channels : (size + 2) * (size + 2) * channels;
  }
};

std::vector<Case> all_cases() {
  return {
      {"crossvit_fc1/197x256x768", 197, 0, 256, 768, Activation::gelu, true, false, true},
      {"crossvit_fc2/197x768x256", 197, 0, 768, 256, Activation::none, false, true, false},
      {"crossvit_fc1/401x128x384", 401, 0, 128, 384, Activation::gelu, true, false, true},
      {"crossvit_qkv/401x128x384", 401, 0, 128, 384, Activation::none, true, false, false},
      {"mobilevit_qkv/1024x144x432", 1024, 0, 144, 432, Activation::none, true, false, false},
      {"mobilevit_fc1/1024x144x288", 1024, 0, 144, 288, Activation::silu, true, false, true},
      {"mobilevit_expand/4096x64x256", 4096, 0, 64, 256, Activation::silu, false, false, false},
      {"mobilevit_conv/1024x864x96", 1024, 32, 96, 96, Activation::silu, false, false, false},
      {"mobilevit_conv/64x1440x160", 64, 8, 160, 160, Activation::silu, false, false, false},
  };
}

AlignedBuffer random_buffer(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  AlignedBuffer buffer(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer.data()[i] = uniform(generator);
  return buffer;
}

/// One copy of a case's memory.
class Operands {
 public:
  Operands(const Case& of, Precision precision, unsigned seed)
      : case_(of),
        a_(random_buffer(of.inputs(), seed)),
        c_(static_cast<std::size_t>(of.rows * of.n)),
        norm_(random_buffer(2 * of.k(), seed)) {
    const AlignedBuffer numbers = random_buffer(of.n * of.k(), seed + 1);
    std::vector<float> weight(numbers.data(), numbers.data() + of.n * of.k());
    // Sums of the size that networks have: activations take other paths far out.
    for (float& w : weight) w *= 3 / std::sqrt(static_cast<float>(of.k()));
    const std::vector<float> bias(static_cast<std::size_t>(of.n), 0.125F);
    b_ = pack(weight, bias, of.n, of.k(), precision);
    const std::vector<float> next(static_cast<std::size_t>(of.n));
    next_ = pack(next, {}, 1, of.n, precision);
    offsets_ = {0};
    const std::int64_t line = (of.size + 2) * of.channels;
    if (of.size != 0) offsets_ = {0, line, 2 * line};
    rows_ = AlignedBuffer(static_cast<std::size_t>((of.rows + 31) * b_.row_bytes() / 4));
    out_ = AlignedBuffer(static_cast<std::size_t>((of.rows + 31) * next_.row_bytes() / 4));
  }

  void pack_all(std::int64_t begin, std::int64_t end, std::int64_t to) {
    NarrowSource source;
    source.a = a_.data();
    source.rows = case_.size == 0 ? case_.rows : case_.size;
    source.a_line = (case_.size + 2) * case_.channels;
    source.a_row = case_.channels;
    source.segment_offsets = offsets_;
    source.segment_length = case_.size == 0 ? case_.channels : 3 * case_.channels;
    if (case_.norm) source.norm = {norm_.data(), norm_.data() + case_.k(), 1e-5F};
    pack_rows(b_, source, begin, end, packed(to));
  }
  void multiply_all(std::int64_t begin, std::int64_t end, std::int64_t from) {
    NarrowTarget target;
    target.activation = case_.activation;
    if (case_.packed) {
      target.packed = reinterpret_cast<std::byte*>(out_.data()) + begin * next_.row_bytes();
      target.next = &next_;
    } else {
      target.f32 = c_.data();
      target.rows = case_.rows;
      target.row = case_.n;
      if (case_.residual) {
        target.residual = c_.data();
        target.residual_row = case_.n;
      }
    }
    multiply_rows(b_, packed(from), begin, end, 0, panel_count(b_), target);
  }
  /// A stretch of rows at a time, so that what is packed is still in the cache.
  void run() {
    const std::int64_t stretch =
        std::clamp<std::int64_t>(kStretch / b_.row_bytes() / 32 * 32, 32, 512);
    for (std::int64_t row = 0; row < case_.rows; row += stretch) {
      const std::int64_t end = std::min(case_.rows, row + stretch);
      pack_all(row, end, 0);
      multiply_all(row, end, 0);
    }
  }

  [[nodiscard]] double bytes() const {
    return 4.0 * static_cast<double>(a_.size() + c_.size()) +
           static_cast<double>(b_.row_bytes() * b_.n);
  }
  /// The results, as numbers whose differences mean something.
  [[nodiscard]] std::vector<float> results() const {
    if (!case_.packed) return {c_.data(), c_.data() + case_.rows * case_.n};
    std::vector<float> numbers;
    const auto* const rows = reinterpret_cast<const std::byte*>(out_.data());
    for (std::int64_t r = 0; r < case_.rows; ++r) {
      for (std::int64_t n = 0; n < case_.n; ++n) {
        const std::byte* const row = rows + r * next_.row_bytes();
        if (next_.precision == Precision::bf16) {
          std::uint16_t code = 0;
          std::memcpy(&code, row + 2 * n, 2);
          numbers.push_back(numerics::Bf16::decode(code));
        } else {
          numbers.push_back(next_.input.decode(static_cast<std::uint8_t>(row[n])));
        }
      }
    }
    return numbers;
  }
  void clear() { std::fill_n(c_.data(), c_.size(), 0.0F); }

 private:
  static constexpr std::int64_t kStretch = 128 << 10;  // bytes

  NarrowMatrix pack(const std::vector<float>& weight, const std::vector<float>& bias,
                    std::int64_t n, std::int64_t k, Precision precision) {
    if (precision == Precision::bf16) return pack_bf16(weight, bias, n, k, pool_);
    float largest = 1e-9F;
    for (const float w : weight) largest = std::max(largest, std::fabs(w));
    std::vector<std::int8_t> codes(weight.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      codes[i] = static_cast<std::int8_t>(std::lround(weight[i] / largest * 127));
    }
    const std::vector<float> scale(static_cast<std::size_t>(n), largest / 127);
    return pack_int8(codes, scale, bias, n, k, {0.02F, 128}, pool_);
  }
  std::byte* packed(std::int64_t row) {
    return reinterpret_cast<std::byte*>(rows_.data()) + row * b_.row_bytes();
  }

  Case case_;
  AlignedBuffer a_;
  AlignedBuffer c_;
  AlignedBuffer norm_;
  AlignedBuffer rows_;
  AlignedBuffer out_;
  std::vector<std::int64_t> offsets_;
  ConstantPool pool_;
  NarrowMatrix b_;
  NarrowMatrix next_;
};

/// Whether the instruction set in use agrees with the portable kernels. A code of bf16 or int8 may
/// fall to the other side of a tie.
bool verified(const Case& timed, Precision precision) {
  Operands operands(timed, precision, 1);
  operands.run();
  const std::vector<float> fast = operands.results();
  operands.clear();
  const Isa isa = active_isa();
  use_isa(Isa::portable);
  operands.run();
  use_isa(isa);
  const std::vector<float> plain = operands.results();
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < fast.size(); ++i) {
    error += std::fabs(static_cast<double>(fast[i]) - static_cast<double>(plain[i]));
    size += std::fabs(static_cast<double>(plain[i]));
  }
  return error <= size / 1000;  // false of NaN
}

enum class Part { pack, multiply, product };

void time_case(benchmark::State& state, const Case& timed, Precision precision, Part part,
               double peak) {
  if (part == Part::product && !verified(timed, precision)) {
    state.SkipWithError("the result differs from the portable kernel's");
    return;
  }
  constexpr double kBeyondCache = 8 << 20;
  std::vector<std::unique_ptr<Operands>> copies;
  double bytes = 0;
  while (bytes < kBeyondCache && copies.size() < 64) {
    copies.push_back(std::make_unique<Operands>(timed, precision, 1U));
    copies.back()->pack_all(0, timed.rows, 0);
    bytes += copies.back()->bytes();
  }
  using Clock = std::chrono::steady_clock;
  std::size_t turn = 0;
  double best = 1e9;
  for (auto _ : state) {
    Operands& operands = *copies[turn];
    const Clock::time_point before = Clock::now();
    if (part == Part::pack) operands.pack_all(0, timed.rows, 0);
    if (part == Part::multiply) operands.multiply_all(0, timed.rows, 0);
    if (part == Part::product) operands.run();
    benchmark::ClobberMemory();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - before).count());
    turn = (turn + 1) % copies.size();
  }
  // A call is shorter than a time slice, so that its least time is its own on a busy machine, too.
  state.counters["best_us"] = best * 1e6;
  if (part == Part::pack) return;
  const double work = 2e-9 * static_cast<double>(timed.rows * timed.k() * timed.n);
  state.counters["GOP/s"] = work / best;
  state.counters["of_peak"] = work / best / peak;
}

}  // namespace
}  // namespace assay::backend::cpu

int main(int argc, char** argv) {
  using namespace assay::backend::cpu;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("isa", std::string(name(active_isa())));
  const std::map<Part, std::string> parts = {
      {Part::pack, "pack"}, {Part::multiply, "multiply"}, {Part::product, "product"}};
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    const double peak = assay::backend::cpu::measure_peak(precision);
    const std::string format(assay::graph::name(precision));
    benchmark::AddCustomContext("peak_gops_" + format, std::to_string(peak));
    for (const Case& timed : all_cases()) {
      for (const auto& [part, title] : parts) {
        benchmark::RegisterBenchmark((format + "/" + title + "/" + timed.name).c_str(),
                                     [=, part = part](benchmark::State& state) {
                                       time_case(state, timed, precision, part, peak);
                                     })
            ->Unit(benchmark::kMicrosecond)
            ->MinTime(0.05);
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}
