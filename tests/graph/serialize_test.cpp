#include "graph/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "graph/toy.h"

namespace assay::graph {
namespace {

/// One node of every operator, with fields that are not the defaults.
Graph every_operator() {
  Toy toy(8, 6);
  Conv2d op;
  op.stride = {2, 1};
  op.padding = {1, 2};
  op.dilation = {1, 2};
  op.groups = 3;
  op.activation = Activation::silu;
  ValueId x = toy.node("conv", op, {toy.input(), toy.constant("w", {6, 1, 3, 3})});
  x = toy.batch_norm("bn", x);
  x = toy.node("resize", Resize{ResizeMode::bicubic, 3, 5}, {x});
  const ValueId tokens = toy.node("tokens", Reshape{{15, 6}}, {x});
  const ValueId weight = toy.constant("lw", {6, 6});
  x = toy.node("linear", Linear{Activation::gelu}, {tokens, weight, kNone, tokens});
  x = toy.node("norm", LayerNorm{1e-6}, {x, toy.constant("nw", {6}), toy.constant("nb", {6})});
  x = toy.node("attention", Attention{2, 0.1234567890123456}, {x, x, x});
  x = toy.node("concat", Concat{1}, {x, tokens});
  x = toy.node("slice", Slice{1, 2, 9}, {x});
  x = toy.node("transpose", Transpose{{1, 0}}, {x});
  x = toy.node("softmax", Softmax{}, {x});
  x = toy.node("act", Activate{Activation::silu}, {x});
  x = toy.node("rounded", FakeQuantize{NumberFormat::affine_u8, 0.0078125, 128}, {x});
  x = toy.node("mul", Mul{}, {x, toy.constant("s", {})});
  x = toy.node("add", Add{}, {x, toy.constant("b", {15})});
  return toy.finish(toy.node("mean", Mean{{0}}, {x}));
}

std::vector<Constant> constants_of(const Graph& graph) {
  std::vector<Constant> constants;
  for (const Value& value : graph.values) {
    if (value.constant) constants.push_back(*value.constant);
  }
  return constants;
}

Graph read(const Json& json, const Graph& original) {
  const std::vector<Constant> constants = constants_of(original);
  return from_json(json, [&](std::size_t index) { return constants.at(index); });
}

TEST(Serialize, EveryOperatorComesBackTheSame) {
  const Graph graph = every_operator();
  const std::string text = to_json(graph).dump();
  const Graph back = read(parse_json(text, "graph"), graph);
  EXPECT_EQ(to_json(back).dump(), text);
  EXPECT_EQ(logits_of(back), logits_of(graph));
  EXPECT_EQ(std::get<Attention>(find_node(back, "attention")->op).scale, 0.1234567890123456);
}

TEST(Serialize, CoversEveryOperator) {
  std::set<std::size_t> kinds;
  const Graph graph = every_operator();
  for (const Node& node : graph.nodes) kinds.insert(node.op.index());
  EXPECT_EQ(kinds.size(), std::variant_size_v<Operator>);
}

TEST(Serialize, ConstantsAreNumberedInOrder) {
  const Json json = to_json(every_operator());
  std::size_t next = 0;
  for (const Json& value : json["values"]) {
    if (!value.contains("constant")) continue;
    EXPECT_EQ(value["constant"], next++);
  }
  EXPECT_EQ(next, constants_of(every_operator()).size());
}

/// Breaks the JSON of a good graph at a pointer and expects a refusal in these words.
void expect_refused(const std::string& pointer, const Json& value, const std::string& words) {
  const Graph graph = every_operator();
  Json json = to_json(graph);
  json[Json::json_pointer(pointer)] = value;
  const auto [kind, message] = error_of([&] { read(json, graph); });
  EXPECT_EQ(kind, ErrorKind::corrupt) << pointer;
  EXPECT_THAT(message, testing::HasSubstr(words));
}

TEST(Serialize, RefusesFieldsOfOtherTypes) {
  expect_refused("/name", 7, "'name' needs to be a string");
  expect_refused("/input", "0", "'input' needs to be a whole number");
  expect_refused("/nodes", Json::object(), "'nodes' needs to be an array");
  expect_refused("/nodes/0", 5, "node 0 is not an object");
  expect_refused("/nodes/0/stride", {1, 2.5}, "'stride'");
  expect_refused("/nodes/0/stride", {1, 2, 3}, "'stride' needs to be an array of at most 2");
  expect_refused("/nodes/0/stride", Json::array({1}), "'stride' needs to be two");
  expect_refused("/nodes/0/groups", nullptr, "'groups'");
  expect_refused("/nodes/0/inputs", {0, true}, "'inputs'");
  expect_refused("/values/0/dims", {8, "6", 3}, "'dims'");
  expect_refused("/values/0/name", Json::array(), "'name'");
  expect_refused("/outputs/0", "logits", "output 0 is not an object");
  expect_refused("/nodes/6/scale", "0.5", "'scale' needs to be a number");
}

TEST(Serialize, RefusesNumbersOutOfRange) {
  expect_refused("/input", 999, "'input'");
  expect_refused("/input", -1, "'input'");
  expect_refused("/nodes/0/output", 18446744073709551615ULL, "'output'");
  expect_refused("/nodes/0/inputs", {0, 4294967295ULL}, "'inputs'");
  expect_refused("/nodes/0/groups", 4294967297LL, "'groups'");
  expect_refused("/nodes/0/padding", {-1, 0}, "'padding'");
  expect_refused("/values/0/dims", {0, 6, 3}, "'dims'");
  expect_refused("/values/0/dims", {1, 1, 1, 1, 1, 1, 1, 1, 3}, "'dims'");
  expect_refused("/nodes/2/height", 1LL << 40, "'height'");
  expect_refused("/values/1/constant", 1, "'constant'");
  expect_refused("/outputs/0/value", 10000, "'value'");
}

TEST(Serialize, RefusesUnknownWordsAndFields) {
  expect_refused("/version", 2, "'version' is not known");
  expect_refused("/nodes/0/fused", true, "'fused' is not known");
  expect_refused("/values/0/dtype", "F32", "'dtype' is not known");
  expect_refused("/outputs/0/kind", 1, "'kind' is not known");
  expect_refused("/nodes/0/op", "conv3d", "'conv3d' is not");
  expect_refused("/nodes/0/activation", "relu", "'activation' needs to be one of none, gelu, silu");
  expect_refused("/nodes/2/mode", "nearest", "'mode'");
}

TEST(Serialize, RefusesMissingFields) {
  const Graph graph = every_operator();
  for (const char* name : {"name", "input", "outputs", "values", "nodes"}) {
    Json json = to_json(graph);
    json.erase(name);
    const auto [kind, message] = error_of([&] { read(json, graph); });
    EXPECT_EQ(kind, ErrorKind::corrupt);
    EXPECT_THAT(message, testing::HasSubstr(std::string("has no '") + name + "'"));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Json node = to_json(graph)["nodes"][i];
    for (const auto& [name, field] : node.items()) {
      Json json = to_json(graph);
      json["nodes"][i].erase(name);
      EXPECT_EQ(error_of([&] { read(json, graph); }).first, ErrorKind::corrupt) << i << name;
    }
  }
}

/// Whatever one field is replaced with, reading gives a graph or says that the file is corrupt.
TEST(Serialize, NoSingleFieldCanDoHarm) {
  const Graph graph = every_operator();
  const Json flat = to_json(graph).flatten();
  const std::vector<Json> values{nullptr,
                                 true,
                                 "",
                                 "conv2d",
                                 -1,
                                 0,
                                 1,
                                 7,
                                 1 << 24,
                                 1LL << 31,
                                 1LL << 62,
                                 ~0ULL,
                                 1e308,
                                 -0.5,
                                 Json::array(),
                                 {1, 2, 3},
                                 {1LL << 24, 1 << 24},
                                 Json::object()};
  int read_well = 0;
  for (const auto& [pointer, original] : flat.items()) {
    for (const Json& value : values) {
      Json json = to_json(graph);
      json[Json::json_pointer(pointer)] = value;
      const auto [kind, message] = error_of([&] { verify(read(json, graph)); });
      read_well += message.empty() ? 1 : 0;
      EXPECT_TRUE(message.empty() || kind == ErrorKind::corrupt) << pointer << value << message;
    }
  }
  EXPECT_GT(read_well, 0);  // such as a value's own number
}

TEST(Serialize, RefusesGraphsThatVerifyRefuses) {
  expect_refused("/nodes/1/inputs/0", 0, "bn");
  expect_refused("/values/0/dims", {8, 6, 4}, "[H, W, 3]");
  expect_refused("/nodes/0/stride", {0, 1}, "stride");
  expect_refused("/nodes/5/epsilon", 1e300, "epsilon");
}

}  // namespace
}  // namespace assay::graph
