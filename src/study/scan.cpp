#include "study/scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "backend/backend.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "numerics/e4m3.h"
#include "numerics/fp16.h"
#include "pipeline/classifier.h"
#include "quant/quant.h"
#include "study/stress.h"

namespace assay::study {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargestFp16 = numerics::Fp16::largest();
constexpr double kLargestBf16 = 3.3895313892515355e38;
constexpr double kLargestE4m3 = numerics::E4m3::largest();

/// How many of a node's inputs are operands that change from image to image.
std::size_t operands(const graph::Node& node) {
  return std::holds_alternative<graph::Attention>(node.op) ? 3 : 1;
}

using ByValue = std::map<std::string, double, std::less<>>;

void keep(ByValue& magnitudes, const std::string& value, std::span<const float> numbers) {
  double& largest = magnitudes[value];
  largest = std::max(largest, magnitude_of(numbers));
}

/// One image's.
void trace(backend::Session& session, const bundle::Bundle& wide, std::span<const std::uint8_t> rgb,
           ByValue& magnitudes) {
  const graph::Dims& dims = wide.graph->value(wide.graph->input).dims;
  image::Image image{
      static_cast<int>(dims[1]), static_cast<int>(dims[0]), {rgb.begin(), rgb.end()}};
  std::vector<float> tensor(rgb.size());
  image::normalize_hwc(image, wide.transform, tensor);
  keep(magnitudes, wide.graph->value(wide.graph->input).name, tensor);
  session.trace({{}, tensor}, 1,
                [&](const graph::Value& value, int, std::span<const float> numbers) {
                  keep(magnitudes, value.name, numbers);
                });
}

/// What the format of a node's operand reaches to; 0 where that is fp32.
double reach(const graph::Node& node, std::size_t operand) {
  switch (node.precision) {
    case graph::Precision::fp16:
    case graph::Precision::nvfp4:
      return kLargestFp16;
    case graph::Precision::bf16:
      return kLargestBf16;
    case graph::Precision::int8: {
      const double scale = node.input_quantization.scale;
      const double zero = node.input_quantization.zero_point;
      return scale * std::max(zero, 255 - zero);
    }
    case graph::Precision::fp8:
      return kLargestE4m3 * static_cast<double>(node.input_scales.at(operand));
    case graph::Precision::fp32:
      break;
  }
  return 0;
}

/// Activations at nvfp4 are fp16.
std::string_view operand_format(const graph::Node& node) {
  return graph::name(node.precision == graph::Precision::nvfp4 ? graph::Precision::fp16
                                                               : node.precision);
}

}  // namespace

double magnitude_of(std::span<const float> numbers) {
  float largest = 0;
  for (const float number : numbers) {
    if (!std::isfinite(number)) return kInfinity;
    largest = std::max(largest, std::abs(number));
  }
  return largest;
}

std::vector<StressInput> run_stress(const Classifier& classifier) {
  const image::Transform& transform = classifier.state().bundle.transform;
  std::vector<float> logits(static_cast<std::size_t>(classifier.info().classes));
  const auto lease = classifier.state().sessions.take();
  std::vector<StressInput> answers;
  for (std::size_t i = 0; i < stress_names().size(); ++i) {
    const StressTensor input = stress_input(i, transform);
    lease.session().run({{}, input.numbers}, 1, {logits, {}});
    const double largest = magnitude_of(logits);
    answers.push_back({input.name, std::isfinite(largest), largest});
  }
  return answers;
}

Magnitudes trace_magnitudes(const bundle::Bundle& wide, const Images& images, int threads) {
  backend::LowerOptions options;
  options.optimization_level = 0;
  options.threads = 1;
  const auto plan = backend::lower(wide.graph, {}, options);
  ThreadPool pool(threads > 0 ? threads : available_cores());
  const std::size_t each = images.rgb.size() / std::max<std::size_t>(images.count(), 1);
  std::vector<ByValue> parts(static_cast<std::size_t>(pool.size()));
  std::vector<std::exception_ptr> errors(parts.size());
  std::atomic<std::size_t> next{0};
  pool.run([&](int worker) {
    const auto w = static_cast<std::size_t>(worker);
    try {
      const auto session = plan->make_session();
      for (std::size_t i = next++; i < images.count(); i = next++)
        trace(*session, wide, std::span(images.rgb).subspan(i * each, each), parts[w]);
    } catch (...) {
      errors[w] = std::current_exception();
    }
  });
  ByValue all;
  for (const ByValue& part : parts)
    for (const auto& [value, largest] : part) all[value] = std::max(all[value], largest);
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  Magnitudes magnitudes;
  for (const graph::Node& node : wide.graph->nodes) {
    if (!quant::is_layer(node)) continue;
    for (std::size_t i = 0; i < operands(node); ++i)
      magnitudes[node.name].push_back(all[wide.graph->value(node.inputs[i]).name]);
  }
  return magnitudes;
}

std::vector<LayerRange> against_formats(const VariantBuild& build, const Magnitudes& magnitudes) {
  std::vector<LayerRange> ranges;
  for (const graph::Node& node : build.bundle.graph->nodes) {
    const auto found = magnitudes.find(node.name);
    if (found == magnitudes.end() || reach(node, 0) == 0 || build.smoothed.contains(node.name))
      continue;
    LayerRange range{node.name, 0, std::string(operand_format(node)), reach(node, 0), 0};
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      const double share = found->second[i] / reach(node, i);
      if (share <= range.share) continue;
      range.largest = found->second[i];
      range.format_max = reach(node, i);
      range.share = share;
    }
    ranges.push_back(std::move(range));
  }
  return ranges;
}

}  // namespace assay::study
