/// Times the CPU kernels one by one, on one core, on the instruction set that ASSAY_CPU_ISA names
/// or the best. Each case first compares its result with the portable kernels' and fails where they
/// differ; its buffers are several copies that together exceed the second-level cache, used in
/// turn. The counters are GFLOP/s with their share of the measured peak, and GB/s of input and
/// output.
#include <cmath>
#include <map>
#include <memory>

#include "backend/cpu/kernels/attention.h"
#include "backend/cpu/kernels/depthwise.h"
#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/kernels/layer_norm.h"
#include "backend/cpu/kernels/normalize.h"
#include "backend/cpu/kernels/resize.h"
#include "backend/cpu/kernels/softmax.h"
#include "backend/cpu/kernels/transpose.h"
#include "backend/cpu/kernels/winograd.h"
#include "kernel_bench.h"

namespace assay::backend::cpu {
namespace {

using graph::Activation;

using bench::random_buffer;

constexpr float kBound = 2.0F;

/// A kernel with its sizes: `run(x, y)` reads `inputs` floats and writes `outputs`.
struct Case {
  std::string name;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  double flops = 0;  ///< a call's, or 0 where memory is all there is
  std::function<void(const float* x, float* y)> run;
};

/// Whether every output of the instruction set in use is near the portable kernels.
bool verified(const Case& timed, const AlignedBuffer& x) {
  const auto outputs = static_cast<std::size_t>(timed.outputs);
  AlignedBuffer fast(outputs);
  timed.run(x.data(), fast.data());
  const Isa isa = active_isa();
  use_isa(Isa::portable);
  AlignedBuffer plain(outputs);
  timed.run(x.data(), plain.data());
  use_isa(isa);
  for (std::size_t i = 0; i < outputs; ++i) {
    // Sums of up to a few thousand products of numbers below 4, in another order.
    const float tolerance = 1e-4F * (1 + std::fabs(plain.data()[i]));
    if (!(std::fabs(fast.data()[i] - plain.data()[i]) <= tolerance)) return false;
  }
  return true;
}

void time_case(benchmark::State& state, const Case& timed, double peak) {
  const std::int64_t copies = bench::copies_beyond_cache(timed.inputs + timed.outputs, 64);
  std::vector<AlignedBuffer> inputs;
  std::vector<AlignedBuffer> outputs;
  for (std::int64_t i = 0; i < copies; ++i) {
    inputs.push_back(random_buffer(timed.inputs, static_cast<unsigned>(i), kBound));
    outputs.emplace_back(static_cast<std::size_t>(timed.outputs));
  }
  if (!verified(timed, inputs[0])) {
    state.SkipWithError("the result differs from the portable kernel's");
    return;
  }
  bench::time_in_turn(state, inputs.size(), [&](std::size_t turn) {
    timed.run(inputs[turn].data(), outputs[turn].data());
  });
  const double bytes = 4.0 * static_cast<double>(timed.inputs + timed.outputs);
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(state.iterations()) * bytes / 1e9,
                                              benchmark::Counter::kIsRate);
  if (timed.flops > 0) bench::count_flops(state, timed.flops, peak);
}

/// q, k and v as one fused projection leaves them; softmax is not counted as operations.
Case attention_case(std::int64_t groups, std::int64_t queries, std::int64_t keys, int heads,
                    int head_dim) {
  const std::int64_t width = heads * std::int64_t{head_dim};
  Case timed;
  timed.name = "attention/" + std::to_string(groups) + "x" + std::to_string(queries) + "x" +
               std::to_string(keys) + "/heads" + std::to_string(heads) + "x" +
               std::to_string(head_dim);
  timed.inputs = groups * keys * 3 * width;
  timed.outputs = groups * queries * width;
  timed.flops = 4.0 * static_cast<double>(groups * queries * keys * width);
  timed.run = [=, scratch = std::make_shared<AlignedBuffer>()](const float* x, float* y) {
    AttentionArgs args;
    args.q = x;
    args.k = x + width;
    args.v = x + 2 * width;
    args.out = y;
    args.q_stride = args.k_stride = args.v_stride = 3 * width;
    args.out_stride = width;
    args.q_batch_stride = args.k_batch_stride = args.v_batch_stride = keys * 3 * width;
    args.out_batch_stride = queries * width;
    args.batch = groups;
    args.queries = queries;
    args.keys = keys;
    args.heads = heads;
    args.head_dim = head_dim;
    args.scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
    const auto needed = static_cast<std::size_t>(attention_scratch_floats(args));
    if (scratch->size() < needed) *scratch = AlignedBuffer(needed);
    attention(args, 0, attention_items(args), scratch->data());
  };
  return timed;
}

Case depthwise_case(std::int64_t size, std::int64_t channels, int kernel, int stride,
                    Activation activation) {
  DepthwiseArgs args;
  args.in_height = args.in_width = size;
  args.out_height = args.out_width = (size - 1) / stride + 1;
  args.channels = channels;
  args.kernel = {kernel, kernel};
  args.stride = {stride, stride};
  args.padding = {kernel / 2, kernel / 2};
  args.activation = activation;
  Case timed;
  timed.name = "depthwise/" + std::to_string(size) + "x" + std::to_string(channels) + "/k" +
               std::to_string(kernel) + "s" + std::to_string(stride) +
               (activation == Activation::silu ? "/silu" : "");
  timed.inputs = size * size * channels;
  timed.outputs = args.out_height * args.out_width * channels;
  timed.flops = 2.0 * kernel * kernel * static_cast<double>(timed.outputs);
  const std::int64_t taps = std::int64_t{kernel} * kernel;
  auto weight = std::make_shared<AlignedBuffer>(random_buffer((taps + 1) * channels, 99, kBound));
  timed.run = [=](const float* x, float* y) {
    DepthwiseArgs call = args;
    call.x = x;
    call.y = y;
    call.weight = weight->data();
    call.bias = weight->data() + taps * channels;
    depthwise_conv(call, 0, call.out_height);
  };
  return timed;
}

/// Packed for each instruction set on its first use.
struct WinogradPacked {
  ConstantPool pool;
  WinogradWeights weights;
  AlignedBuffer scratch;
};

/// Its operations are those of the direct sum; cpu_gemm_bench times that.
Case winograd_case(std::int64_t size, std::int64_t channels, std::int64_t n, int outputs) {
  Case timed;
  timed.name = "winograd/" + std::to_string(size) + "x" + std::to_string(channels) + "x" +
               std::to_string(n) + "/" + std::to_string(outputs) + "x" + std::to_string(outputs) +
               "/silu";
  timed.inputs = size * size * channels;
  timed.outputs = size * size * n;
  timed.flops = 2.0 * 9 * static_cast<double>(timed.outputs * channels);
  auto weight = std::make_shared<AlignedBuffer>(random_buffer(9 * channels * n, 5, 0.1F));
  auto bias = std::make_shared<AlignedBuffer>(random_buffer(n, 6, 1.0F));
  auto packed = std::make_shared<std::map<Isa, WinogradPacked>>();
  timed.run = [=](const float* x, float* y) {
    WinogradPacked& now = (*packed)[active_isa()];
    if (now.weights.points.empty()) {
      now.weights = pack_winograd({weight->data(), weight->size()}, n, channels, outputs, now.pool);
      now.scratch = AlignedBuffer(static_cast<std::size_t>(
          winograd_scratch(now.weights, winograd_tiles(outputs, size, size))));
    }
    WinogradArgs args;
    args.height = args.width = size;
    args.x = x;
    args.x_line = size * channels;
    args.x_row = channels;
    args.bias = bias->data();
    args.y = y;
    args.y_line = size * n;
    args.y_row = n;
    args.activation = Activation::silu;
    winograd(now.weights, args, winograd_share(now.weights, args, 0, 1), now.scratch.data());
  };
  return timed;
}

Case resize_case(std::int64_t in, std::int64_t out, std::int64_t channels, graph::ResizeMode mode) {
  Case timed;
  timed.name =
      "resize/" + std::to_string(in) + "to" + std::to_string(out) + "x" + std::to_string(channels);
  timed.inputs = in * in * channels;
  timed.outputs = out * out * channels;
  auto table = std::make_shared<ResizeTable>(make_resize_table(mode, in, out));
  auto scratch = std::make_shared<AlignedBuffer>(static_cast<std::size_t>(in * channels + 1));
  timed.run = [=](const float* x, float* y) {
    ResizeArgs args{x, y, in, in, out, out, channels, table.get(), table.get()};
    resize(args, 0, out, scratch->data());
  };
  return timed;
}

std::vector<Case> small_cases() {
  constexpr std::int64_t kCount = 1 << 16;
  auto ones = std::make_shared<AlignedBuffer>(random_buffer(512, 7, kBound));
  std::vector<Case> cases;
  cases.push_back({"copy", kCount, kCount, 0,
                   [](const float* x, float* y) { activate(Activation::none, x, y, kCount); }});
  cases.push_back({"gelu", kCount, kCount, 0,
                   [](const float* x, float* y) { activate(Activation::gelu, x, y, kCount); }});
  cases.push_back({"silu", kCount, kCount, 0,
                   [](const float* x, float* y) { activate(Activation::silu, x, y, kCount); }});
  cases.push_back(
      {"add", kCount, kCount, 0, [](const float* x, float* y) { add(x, x, y, kCount); }});
  for (const std::int64_t width : {64, 144, 256}) {
    cases.push_back({"layer_norm/" + std::to_string(width), 400 * width, 400 * width, 0,
                     [=](const float* x, float* y) {
                       layer_norm(x, y, 400, width, ones->data(), ones->data(), 1e-6F);
                     }});
  }
  cases.push_back({"softmax/197", 400 * 197, 400 * 197, 0,
                   [](const float* x, float* y) { softmax(x, y, 400, 197); }});
  const std::vector<std::int64_t> dims = {16, 2, 16, 2, 144};
  const std::vector<int> permutation = {1, 3, 0, 2, 4};
  const TransposePlan unfold = plan_transpose(dims, permutation);
  cases.push_back({"unfold/32x144", 32 * 32 * 144, 32 * 32 * 144, 0, [=](const float* x, float* y) {
                     transpose(unfold, x, y, 0, transpose_items(unfold));
                   }});
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = {
      attention_case(1, 401, 401, 4, 32),
      attention_case(1, 197, 197, 4, 64),
      attention_case(4, 256, 256, 4, 36),
      attention_case(4, 64, 64, 4, 48),
      attention_case(4, 16, 16, 4, 60),
      attention_case(1, 1, 401, 4, 32),
      // A head of CrossViT's class token among the tokens as they are.
      attention_case(1, 1, 401, 1, 128),
      attention_case(1, 1, 197, 1, 256),
      winograd_case(32, 96, 96, 2),
      winograd_case(32, 96, 96, 4),
      winograd_case(32, 192, 96, 2),
      winograd_case(32, 192, 96, 4),
      winograd_case(16, 128, 128, 2),
      winograd_case(16, 128, 128, 4),
      winograd_case(8, 160, 160, 2),
      winograd_case(8, 160, 160, 4),
      depthwise_case(128, 32, 3, 1, Activation::none),
      depthwise_case(128, 32, 3, 1, Activation::silu),
      depthwise_case(128, 128, 3, 2, Activation::silu),
      depthwise_case(64, 256, 3, 1, Activation::silu),
      depthwise_case(32, 512, 3, 2, Activation::silu),
      depthwise_case(32, 64, 5, 1, Activation::none),
      resize_case(240, 224, 3, graph::ResizeMode::bicubic),
      resize_case(14, 16, 144, graph::ResizeMode::bilinear),
  };
  for (Case& small : small_cases()) cases.push_back(std::move(small));
  return cases;
}

}  // namespace
}  // namespace assay::backend::cpu

int main(int argc, char** argv) {
  using namespace assay::backend::cpu;
  std::vector<assay::bench::TimedCase> cases;
  for (const Case& timed : all_cases()) {
    cases.push_back({timed.name, [timed](benchmark::State& state, double peak) {
                       time_case(state, timed, peak);
                     }});
  }
  return assay::bench::run_cases(argc, argv, cases);
}
