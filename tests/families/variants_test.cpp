/// Every supported architecture against timm's own account of it: which tensors it has, in which
/// shapes, how many heads attend at which scale, and every normalization's epsilon.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/error.h"
#include "families/families.h"
#include "families/tables.h"

namespace assay::families {
namespace {

std::vector<std::string> all_architectures() {
  std::vector<std::string> names;
  for (const Family& family : all()) {
    names.insert(names.end(), family.architectures.begin(), family.architectures.end());
  }
  return names;
}

graph::Graph build_zero(const std::string& architecture, const checkpoint::Weights& weights) {
  const checkpoint::ModelConfig config = config_of(architecture);
  const std::int64_t size = architecture.starts_with("crossvit") ? 240 : 256;
  return build({config, weights, size, size});
}

class Variants : public testing::TestWithParam<std::string> {};

TEST_P(Variants, UsesExactlyTimmsTensors) {
  const graph::Graph graph = build_zero(GetParam(), zero_weights(GetParam()));
  EXPECT_EQ(graph.name, GetParam());
  EXPECT_EQ(graph.value(graph.output("logits")).dims, graph::Dims{1000});
}

TEST_P(Variants, NamesEveryTensorThatIsMissing) {
  const checkpoint::Weights none;
  std::string message;
  try {
    build_zero(GetParam(), none);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    message = error.what();
  }
  for (const auto& [name, cell] : golden_column("model_tensors", GetParam())) {
    if (cell == "scalar") continue;
    EXPECT_THAT(message, testing::HasSubstr(name + " ["));
  }
}

/// "heads 4 scale 0.25" or "epsilon 1e-06", as the table writes it.
std::string describe(const graph::Node& node) {
  if (const auto* attention = std::get_if<graph::Attention>(&node.op)) {
    return fmt::format("heads {} scale {:.9g}", attention->heads, attention->scale);
  }
  if (const auto* norm = std::get_if<graph::LayerNorm>(&node.op)) {
    return fmt::format("epsilon {:g}", norm->epsilon);
  }
  if (const auto* norm = std::get_if<graph::BatchNorm>(&node.op)) {
    return fmt::format("epsilon {:g}", norm->epsilon);
  }
  return "";
}

TEST_P(Variants, HasTimmsHeadsAndEpsilons) {
  const graph::Graph graph = build_zero(GetParam(), zero_weights(GetParam()));
  std::map<std::string, std::string> found;
  for (const graph::Node& node : graph.nodes) {
    std::string name = node.name;
    const std::string suffix = ".attention";
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    if (const std::string text = describe(node); !text.empty()) found.emplace(name, text);
  }
  EXPECT_EQ(found, golden_column("model_attributes", GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, Variants, testing::ValuesIn(all_architectures()),
                         [](const auto& chosen) { return chosen.param; });

TEST(Families, SupportTheNineArchitectures) {
  EXPECT_THAT(
      all_architectures(),
      testing::UnorderedElementsAre("crossvit_tiny_240", "crossvit_small_240", "crossvit_base_240",
                                    "crossvit_9_240", "crossvit_15_240", "crossvit_18_240",
                                    "mobilevit_xxs", "mobilevit_xs", "mobilevit_s"));
}

}  // namespace
}  // namespace assay::families
