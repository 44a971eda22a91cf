#include "families/example.h"

#include <algorithm>
#include <cmath>

#include "families/families.h"
#include "families/tables.h"
#include "graph/passes.h"

namespace assay::families {

Example example(const std::string& architecture, int height, int width, int optimization_level) {
  Example made;
  made.checkpoint = checkpoint::open(source_dir() / "examples" / (architecture + ".fashion_mnist"));
  const checkpoint::ModelConfig& config = made.checkpoint.config;
  auto graph = build({config, made.checkpoint.weights, height, width});
  graph::optimize(graph, optimization_level);
  backend::LowerOptions options;
  for (std::size_t i = 0; i < 3; ++i) {
    options.normalization.mean[i] = static_cast<float>(config.transform.mean[i]);
    options.normalization.std[i] = static_cast<float>(config.transform.std[i]);
  }
  made.plan = backend::lower(std::make_shared<const graph::Graph>(std::move(graph)),
                             {"reference", 0}, options);
  return made;
}

Answer answer(const Example& example, const std::vector<std::uint8_t>& rgb, std::size_t features) {
  Answer made{std::vector<float>(10), std::vector<float>(features)};
  example.plan->make_session()->run({rgb, {}}, 1, {made.logits, made.features});
  return made;
}

const checkpoint::TensorView& golden_tensor(const std::string& name) {
  static const checkpoint::Weights all =
      checkpoint::read_safetensors(source_dir() / "tests/golden/model_logits.safetensors");
  return *all.find(name);
}

std::vector<float> numbers_of(const checkpoint::TensorView& view) {
  std::vector<float> numbers(static_cast<std::size_t>(view.elements()));
  convert_to_f32(view.dtype, view.bytes, numbers);
  return numbers;
}

Difference difference(const std::vector<float>& a, const std::vector<float>& b) {
  Difference found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = std::abs(static_cast<double>(a[i]) - b[i]);
    found.largest = std::max(found.largest, apart);
    found.mean += apart / static_cast<double>(a.size());
  }
  return found;
}

}  // namespace assay::families
