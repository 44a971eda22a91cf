#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "graph/json_fields.h"
#include "graph/operator_fields.h"
#include "graph/serialize.h"

namespace assay::graph {
namespace {

// verify() has the limits that matter; these only keep a hostile text from growing large first.
constexpr std::size_t kMaxNodes = std::size_t{1} << 20;
constexpr std::size_t kMaxValues = 8 * kMaxNodes;
constexpr std::size_t kMaxInputs = 64;
constexpr std::size_t kMaxRank = 8;
constexpr std::size_t kMaxOutputs = 64;
constexpr int kMaxAttribute = 1 << 24;
constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;

struct FieldReader {
  JsonFields& fields;

  void operator()(const char* name, int& field) {
    field = static_cast<int>(fields.integer(name, 0, kMaxAttribute));
  }
  void operator()(const char* name, std::int64_t& field) {
    field = fields.integer(name, 0, kMaxDim);
  }
  void operator()(const char* name, double& field) { field = fields.number(name); }
  void operator()(const char* name, std::array<int, 2>& field) {
    const auto numbers = fields.integers(name, 2, 0, kMaxAttribute);
    if (numbers.size() != 2) fields.refuse(name, "two whole numbers");
    field = {static_cast<int>(numbers[0]), static_cast<int>(numbers[1])};
  }
  void operator()(const char* name, std::vector<int>& field) {
    for (const std::int64_t number : fields.integers(name, kMaxRank, 0, kMaxAttribute)) {
      field.push_back(static_cast<int>(number));
    }
  }
  void operator()(const char* name, Dims& field) {
    field = fields.integers(name, kMaxRank, 1, kMaxDim);
  }
  void operator()(const char* name, Activation& field) { word(name, kActivationNames, field); }
  void operator()(const char* name, ResizeMode& field) { word(name, kResizeModeNames, field); }
  void operator()(const char* name, NumberFormat& field) { word(name, kNumberFormatNames, field); }

 private:
  template <std::size_t count, typename Enum>
  void word(const char* name, const std::array<std::string_view, count>& words, Enum& field) {
    const auto found = std::ranges::find(words, fields.text(name));
    if (found == words.end()) {
      fields.refuse(name, fmt::format("one of {}", fmt::join(words, ", ")));
    }
    field = static_cast<Enum>(found - words.begin());
  }
};

/// The operator that `name` names, with its defaults.
template <std::size_t index = 0>
Operator operator_named(const std::string& name, const JsonFields& fields) {
  if constexpr (index == std::variant_size_v<Operator>) {
    fields.refuse("op", fmt::format("a known operator, '{}' is not", name));
  } else {
    Operator candidate{std::in_place_index<index>};
    if (operator_name(candidate) == name) return candidate;
    return operator_named<index + 1>(name, fields);
  }
}

Value value_from_json(const Json& json, std::size_t index, std::size_t& constants,
                      const std::function<Constant(std::size_t)>& constant) {
  JsonFields fields(json, fmt::format("value {}", index));
  Value value{fields.text("name"), fields.integers("dims", kMaxRank, 1, kMaxDim), std::nullopt};
  if (fields.has("constant")) {
    // Indices count up, so that no two values share stored bytes and none are left out.
    const auto expected = static_cast<std::int64_t>(constants++);
    fields.integer("constant", expected, expected);
    value.constant = constant(static_cast<std::size_t>(expected));
  }
  fields.finish();
  return value;
}

ValueId id_from(JsonFields& fields, const char* name, std::size_t values) {
  return static_cast<ValueId>(fields.integer(name, 0, static_cast<std::int64_t>(values) - 1));
}

constexpr std::size_t kMaxInputScales = 3;

void read_precision(JsonFields& fields, Node& node) {
  if (!fields.has("precision")) return;
  const auto precision = precision_from_name(fields.text("precision"));
  if (!precision || *precision == Precision::fp32) {
    fields.refuse("precision", "fp16, bf16, int8, fp8 or nvfp4, or absent for fp32");
  }
  node.precision = *precision;
  if (node.precision == Precision::fp8) {
    node.input_scales = fields.singles("input_scales", kMaxInputScales);
  }
  if (node.precision != Precision::int8) return;
  constexpr int kMaxCode = std::numeric_limits<std::uint8_t>::max();
  node.input_quantization = {fields.single("input_scale"), static_cast<std::uint8_t>(fields.integer(
                                                               "input_zero_point", 0, kMaxCode))};
}

void read_role(JsonFields& fields, Node& node) {
  if (!fields.has("role")) return;
  const auto role = role_from_name(fields.text("role"));
  if (!role || *role == Role::none) fields.refuse("role", "a known role, or absent for none");
  node.role = *role;
}

Node node_from_json(const Json& json, std::size_t index, std::size_t values) {
  JsonFields fields(json, fmt::format("node {}", index));
  Node node;
  node.name = fields.text("name");
  node.op = operator_named(fields.text("op"), fields);
  const auto largest = static_cast<std::int64_t>(values) - 1;
  for (const auto& id : fields.integers_or_null("inputs", kMaxInputs, 0, largest)) {
    node.inputs.push_back(id ? static_cast<ValueId>(*id) : kNone);
  }
  node.output = id_from(fields, "output", values);
  read_role(fields, node);
  read_precision(fields, node);
  FieldReader reader{fields};
  std::visit([&](auto& op) { visit_fields(reader, op); }, node.op);
  fields.finish();
  return node;
}

}  // namespace

Graph from_json(const Json& json, const std::function<Constant(std::size_t)>& constant) {
  JsonFields fields(json, "the graph");
  Graph graph;
  graph.name = fields.text("name");
  std::size_t constants = 0;
  for (const Json& value : fields.array("values", kMaxValues)) {
    graph.values.push_back(value_from_json(value, graph.values.size(), constants, constant));
  }
  graph.input = id_from(fields, "input", graph.values.size());
  for (const Json& node : fields.array("nodes", kMaxNodes)) {
    graph.nodes.push_back(node_from_json(node, graph.nodes.size(), graph.values.size()));
  }
  for (const Json& entry : fields.array("outputs", kMaxOutputs)) {
    JsonFields output(entry, fmt::format("output {}", graph.outputs.size()));
    graph.outputs.push_back({output.text("name"), id_from(output, "value", graph.values.size())});
    output.finish();
  }
  fields.finish();
  verify(graph);
  return graph;
}

}  // namespace assay::graph
