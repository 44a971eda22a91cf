/// Every operator of the reference backend against torch.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "graph/near.h"
#include "graph/serialize.h"

namespace assay::graph {
namespace {

const checkpoint::Weights& goldens() {
  static const checkpoint::Weights all = checkpoint::read_safetensors(
      std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/operators.safetensors");
  return all;
}

const Json& cases() {
  static const Json all = parse_json(goldens().metadata.at("cases"), "cases");
  return all;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& [name, op] : cases().items()) names.push_back(name);
  return names;
}

Constant constant_of(const checkpoint::TensorView& view) {
  return {view.dtype, view.bytes, view.owner};
}

/// The case's node as a graph in JSON: the image input, reshaped to the first operand, goes in; the
/// other operands are constants.
Json graph_json(const std::string& name, const std::vector<const checkpoint::TensorView*>& inputs,
                const checkpoint::TensorView& answer) {
  const std::int64_t count = inputs[0]->elements();
  Json json;
  json["name"] = name;
  json["input"] = 0;
  json["outputs"] = Json::array({{{"name", "logits"}, {"value", inputs.size() + 1}}});
  json["values"] = Json::array({{{"name", "input"}, {"dims", {count / 3, 1, 3}}},
                                {{"name", "x"}, {"dims", inputs[0]->shape}}});
  Json node = cases()[name];
  node["name"] = name;
  node["inputs"] = Json::array({1});
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    json["values"].push_back(
        {{"name", inputs[i]->name}, {"dims", inputs[i]->shape}, {"constant", i - 1}});
    node["inputs"].push_back(i + 1);
  }
  node["output"] = inputs.size() + 1;
  json["values"].push_back({{"name", "y"}, {"dims", answer.shape}});
  json["nodes"] = Json::array({{{"name", "enter"},
                                {"op", "reshape"},
                                {"inputs", {0}},
                                {"output", 1},
                                {"dims", inputs[0]->shape}},
                               node});
  return json;
}

class Operators : public testing::TestWithParam<std::string> {};

/// Torch's answers are float64 rounded to fp32, and so are ours: they may differ in the last bit.
/// Resizes differ in more, because torch sums them in fp32: at most 16 products of order 1.
TEST_P(Operators, AgreeWithTorch) {
  const std::string& name = GetParam();
  std::vector<const checkpoint::TensorView*> inputs;
  while (const auto* view = goldens().find(name + "/" + std::to_string(inputs.size()))) {
    inputs.push_back(view);
  }
  const checkpoint::TensorView& answer = *goldens().find(name + "/y");
  const Graph graph = from_json(graph_json(name, inputs, answer),
                                [&](std::size_t index) { return constant_of(*inputs[index + 1]); });
  const auto plan = backend::lower(std::make_shared<const Graph>(graph), {"reference", 0}, {});
  std::vector<float> got(static_cast<std::size_t>(answer.elements()));
  const std::vector<float> x = to_f32(constant_of(*inputs[0]));
  plan->make_session()->run({{}, x}, 1, {got, {}});
  const bool single = std::holds_alternative<Resize>(graph.nodes[1].op);
  EXPECT_TRUE(near(got, to_f32(constant_of(answer)), single ? 2e-6 : 2e-7));
}

INSTANTIATE_TEST_SUITE_P(Golden, Operators, testing::ValuesIn(case_names()),
                         [](const auto& chosen) {
                           std::string name = chosen.param;
                           std::ranges::replace(name, '-', '_');
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST(OperatorGoldens, CoverEveryOperator) {
  std::set<std::string> covered;
  for (const auto& [name, op] : cases().items()) covered.insert(op["op"].get<std::string>());
  EXPECT_EQ(covered.size(), std::variant_size_v<Operator>);
}

}  // namespace
}  // namespace assay::graph
