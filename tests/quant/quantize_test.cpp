/// Graphs made narrow by recipes: which layers, and what is refused.
#include "quant/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "numerics/bf16.h"
#include "quant/toy_network.h"

namespace assay::quant {
namespace {

using graph::error_of;
using graph::Graph;
using graph::Precision;
using graph::Role;
using testing::ElementsAre;
using testing::HasSubstr;

/// The error's share of the logits' norm.
double share_of_noise(const Graph& wide, const Graph& narrow) {
  const std::vector<float> exact = toy_run(wide, 1);
  const std::vector<float> rounded = toy_run(narrow, 1);
  double noise = 0;
  double signal = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    noise += std::pow(rounded[i] - exact[i], 2);
    signal += std::pow(exact[i], 2);
  }
  return std::sqrt(noise / signal);
}

TEST(Quantize, EveryRecipeStaysNear) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  // Some ten times what each rounds a number by at most.
  const std::vector<std::pair<const char*, double>> near{
      {"fp16", 0.005},  {"bf16", 0.04},       {"int8-max", 0.05},   {"int8-cpu", 0.05},
      {"fp8-all", 0.3}, {"fp8-vit-max", 0.3}, {"fp8-vit-mse", 0.3}, {"fp8-mlp-only", 0.3}};
  for (const auto& [name, most] : near) {
    const Quantized quantized = quantize(graph, find_recipe(name), &calibration);
    EXPECT_GT(share_of_noise(graph, quantized.graph), 0) << name;
    EXPECT_LT(share_of_noise(graph, quantized.graph), most) << name;
  }
}

TEST(Quantize, TheSameArgumentsGiveTheSameGraph) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  for (const BuiltinRecipe& builtin : builtin_recipes()) {
    const Recipe recipe = find_recipe(std::string(builtin.name));
    EXPECT_EQ(graph::fingerprint(quantize(graph, recipe, &calibration).graph),
              graph::fingerprint(quantize(graph, recipe, &calibration).graph))
        << builtin.name;
  }
}

TEST(Quantize, TheLastRuleThatMatchesWinsAndTheRestIsBase) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  Recipe recipe = toy_recipe(Precision::fp8, Precision::fp16);
  recipe.rules[0].roles = {Role::qkv, Role::fc1, Role::fc2};
  Rule back;
  back.layers = {"*.fc2"};
  back.precision = Precision::bf16;
  recipe.rules.push_back(back);
  const Quantized quantized = quantize(graph, recipe, &calibration);
  std::map<std::string, std::pair<Precision, std::string>> layers;
  for (const LayerDecision& layer : quantized.layers) {
    EXPECT_EQ(layer.precision, precision_of(quantized.graph, layer.layer));
    EXPECT_GT(layer.multiply_adds, 0);
    layers[layer.layer] = {layer.precision, layer.reason};
  }
  const std::string base = "base: no rule takes it";
  EXPECT_THAT(
      layers,
      ElementsAre(testing::Pair("attn", std::pair(Precision::fp16, base)),
                  testing::Pair("attn.proj", std::pair(Precision::fp16, base)),
                  testing::Pair("attn.qkv", std::pair(Precision::fp8, "rule 1")),
                  testing::Pair(
                      "dw", std::pair(Precision::fp32, "grouped convolutions have no narrow form")),
                  testing::Pair("expand", std::pair(Precision::fp16, base)),
                  testing::Pair("head", std::pair(Precision::fp16, base)),
                  testing::Pair("mlp.fc1", std::pair(Precision::fp8, "rule 1")),
                  testing::Pair("mlp.fc2", std::pair(Precision::bf16, "rule 2")),
                  testing::Pair("stem", std::pair(Precision::fp16, base))));
  EXPECT_EQ(quantized.layers[0].layer, "stem");
  EXPECT_EQ(quantized.layers[0].role, Role::stem);
  EXPECT_EQ(quantized.layers[0].multiply_adds, 16 * 4 * 27);
  EXPECT_EQ(input_of(quantized.graph, "attn.qkv", 1).constant->dtype, DType::f8_e4m3);
  EXPECT_EQ(input_of(quantized.graph, "head", 1).constant->dtype, DType::f16);
  EXPECT_EQ(input_of(quantized.graph, "mlp.fc2", 1).constant->dtype, DType::bf16);
  EXPECT_EQ(input_of(quantized.graph, "dw", 1).constant->dtype, DType::f32);
  for (const graph::Value& value : quantized.graph.values) {
    EXPECT_NE(value.name, "head.weight") << "weights as they were are gone";
  }
}

TEST(Quantize, TheBf16RecipeKeepsWhatReadsThePicture) {
  const Graph narrow = quantize(toy_network(), find_recipe("bf16"), nullptr).graph;
  EXPECT_EQ(precision_of(narrow, "stem"), Precision::fp32);
  EXPECT_EQ(precision_of(narrow, "expand"), Precision::bf16);
  EXPECT_EQ(precision_of(narrow, "attn"), Precision::bf16);
  EXPECT_EQ(precision_of(narrow, "dw"), Precision::fp32);
}

TEST(Quantize, ScalesComeFromTheRuleSObserver) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  for (const char* observer : {"max", "percentile_99.9", "entropy", "mse"}) {
    Recipe recipe = toy_recipe(Precision::int8);
    recipe.rules[0].activations = observer;
    const Graph int8 = quantize(graph, recipe, &calibration).graph;
    const OperandStats* stats = find(calibration, "mlp.fc1", "input");
    EXPECT_EQ(graph::find_node(int8, "mlp.fc1")->input_quantization,
              affine_for(range_of(*stats, observer, Format::int8)));
    recipe = toy_recipe(Precision::fp8);
    recipe.rules[0].activations = observer;
    const Graph fp8 = quantize(graph, recipe, &calibration).graph;
    EXPECT_THAT(graph::find_node(fp8, "mlp.fc1")->input_scales,
                ElementsAre(e4m3_scale_for(range_of(*stats, observer, Format::e4m3))));
    const auto scale = [&](const char* operand) {
      return e4m3_scale_for(range_of(*find(calibration, "attn", operand), observer, Format::e4m3));
    };
    EXPECT_THAT(graph::find_node(fp8, "attn")->input_scales,
                ElementsAre(scale("query"), scale("key"), scale("value")));
  }
}

TEST(Quantize, LayersWithOutliersKeepTheBase) {
  const Graph graph = toy_network();
  Calibration calibration = toy_calibration(graph);
  for (OperandStats& stats : calibration.operands) {
    stats.ranges["max"] = {-4, 8};
    stats.ranges["percentile_99.9"] = {-1, 1};
    if (stats.layer == "mlp.fc2") stats.ranges["max"] = {-8.5, 8};
    if (stats.operand == "value") stats.ranges["max"] = {0, 80};
  }
  Recipe recipe = toy_recipe(Precision::fp8, Precision::fp16);
  recipe.outliers = OutlierRule{"percentile_99.9", 8};
  const Quantized quantized = quantize(graph, recipe, &calibration);
  for (const LayerDecision& layer : quantized.layers) {
    if (layer.layer == "mlp.fc2") {
      EXPECT_EQ(layer.precision, Precision::fp16);
      EXPECT_EQ(
          layer.reason,
          "outliers: input's max 8.5 is more than 8 times percentile_99.9 1; it keeps the base");
    } else if (layer.layer == "attn") {
      EXPECT_EQ(layer.precision, Precision::fp16);
      EXPECT_THAT(layer.reason, HasSubstr("value's max 80 "));
    } else if (layer.layer != "dw") {
      EXPECT_EQ(layer.precision, Precision::fp8) << "8 times is not above 8";
    }
  }
}

TEST(Quantize, OnlyLeavesEveryOtherLayerWide) {
  const Graph graph = toy_network();
  const Calibration calibration = toy_calibration(graph);
  for (const char* layer : {"mlp.fc1", "attn", "expand"}) {
    const Quantized one = quantize(graph, only(find_recipe("fp8-all"), layer), &calibration);
    for (const LayerDecision& decision : one.layers) {
      EXPECT_EQ(decision.precision, decision.layer == layer ? Precision::fp8 : Precision::fp32);
    }
  }
}

TEST(Quantize, ASharedWeightIsStoredOnce) {
  graph::Toy toy(2, 2);
  const graph::ValueId flat = toy.node("flat", graph::Reshape{{4, 3}}, {toy.input()});
  const graph::ValueId weight = toy.constant("shared", {3, 3});
  const graph::ValueId a = toy.node("a", graph::Linear{}, {flat, weight});
  const Graph graph = toy.finish(toy.node("b", graph::Linear{}, {a, weight}));
  const Graph narrow = quantize(graph, find_recipe("fp16"), nullptr).graph;
  EXPECT_EQ(graph::find_node(narrow, "a")->inputs[1], graph::find_node(narrow, "b")->inputs[1]);
  EXPECT_EQ(narrow.values.size(), graph.values.size());
  EXPECT_EQ(input_of(narrow, "a", 1).name, "shared.fp16");
}

TEST(Quantize, Fp32IsTheGraphItself) {
  const Graph graph = toy_network();
  const Quantized quantized = quantize(graph, default_recipe(Precision::fp32), nullptr);
  EXPECT_EQ(graph::fingerprint(quantized.graph), graph::fingerprint(graph));
  EXPECT_EQ(quantized.layers.size(), 9U);
}

/// Expects a refusal of kind bad_input, and gives its words.
std::string refused(const Graph& graph, const Recipe& recipe, const Calibration* calibration) {
  const auto [kind, message] = error_of([&] { quantize(graph, recipe, calibration); });
  EXPECT_EQ(kind, ErrorKind::bad_input) << message;
  return message;
}

TEST(Quantize, RefusesACalibrationThatDoesNotFit) {
  const Graph graph = toy_network();
  const Recipe int8 = find_recipe("int8-max");
  EXPECT_THAT(refused(graph, int8, nullptr), HasSubstr("recipe int8-max needs a calibration"));
  const Calibration good = toy_calibration(graph);
  Calibration lacking = good;
  std::erase_if(lacking.operands, [](const OperandStats& s) { return s.layer == "mlp.fc1"; });
  EXPECT_THAT(refused(graph, int8, &lacking),
              HasSubstr("no entry for the input of layer 'mlp.fc1'"));
  Calibration more = good;
  more.operands.push_back({"dw", "input", {{"max", {0, 1}}}, {}, {}});
  EXPECT_THAT(refused(graph, int8, &more), HasSubstr("an entry for the input of 'dw'"));
  Calibration other = good;
  other.graph = std::string(64, '0');
  EXPECT_THAT(refused(graph, int8, &other), HasSubstr("of another network"));
  Calibration max_only = good;
  for (OperandStats& stats : max_only.operands) {
    const Range max = stats.ranges["max"];
    stats.ranges = {{"max", max}};
  }
  EXPECT_THAT(refused(graph, find_recipe("fp8-vit-mse"), &max_only), HasSubstr("--observer mse"));
  EXPECT_THAT(refused(graph, find_recipe("int8-cpu"), &max_only),
              HasSubstr("--observer percentile_99.99"));
}

TEST(Quantize, RefusesARuleThatMatchesNothing) {
  const Graph graph = toy_network();
  Recipe recipe = find_recipe("fp16");
  recipe.rules.resize(1);
  recipe.rules[0].roles = {Role::key, Role::value};
  recipe.rules[0].precision = Precision::fp16;
  EXPECT_THAT(refused(graph, recipe, nullptr),
              HasSubstr("recipe fp16: rule 1 (roles key, value, layers *, precision fp16) matches "
                        "no layer of toy"));
  recipe.rules[0].optional = true;
  EXPECT_EQ(precision_of(quantize(graph, recipe, nullptr).graph, "head"), Precision::fp16);
}

TEST(Quantize, RefusesWhatFormatsCannotHold) {
  Graph narrow = quantize(toy_network(), find_recipe("bf16"), nullptr).graph;
  EXPECT_THAT(refused(narrow, find_recipe("bf16"), nullptr), HasSubstr("is bf16 already"));
  Graph large = toy_network();
  set_numbers(large, "head.weight", std::vector<float>(60, 7e4F));
  EXPECT_THAT(refused(large, find_recipe("fp16"), nullptr),
              HasSubstr("layer 'head': its weight holds 70000, which is infinite in fp16"));
  set_numbers(large, "head.weight", std::vector<float>(60, 3.4e38F));
  EXPECT_THAT(refused(large, find_recipe("bf16"), nullptr),
              HasSubstr("layer 'head': its weight holds 3.4e+38, which is infinite in bf16"));
}

TEST(Quantize, RefusesSumsThatInt8CannotHold) {
  constexpr std::int64_t kColumns = graph::kMaxInt8Depth / 3 + 1;
  graph::Toy toy(1, kColumns);
  const graph::ValueId flat = toy.node("flat", graph::Reshape{{3 * kColumns}}, {toy.input()});
  const Graph deep = toy.finish(toy.linear("head", flat, 1));
  Calibration calibration;
  calibration.graph = graph::fingerprint(deep);
  calibration.operands = {{"head", "input", {{"max", {0, 1}}}, {}, {}}};
  const auto [kind, message] =
      error_of([&] { quantize(deep, toy_recipe(Precision::int8), &calibration); });
  EXPECT_EQ(kind, ErrorKind::unsupported);
  EXPECT_THAT(message, HasSubstr("layer 'head' adds up"));
}

}  // namespace
}  // namespace assay::quant
