#include <nlohmann/json.hpp>

#include "graph/operator_fields.h"
#include "graph/serialize.h"

namespace assay::graph {
namespace {

struct FieldWriter {
  Json& json;
  template <typename T>
  void operator()(const char* name, const T& field) {
    json[name] = field;
  }
  void operator()(const char* name, Activation field) {
    json[name] = kActivationNames[static_cast<std::size_t>(field)];
  }
  void operator()(const char* name, ResizeMode field) {
    json[name] = kResizeModeNames[static_cast<std::size_t>(field)];
  }
  void operator()(const char* name, NumberFormat field) {
    json[name] = kNumberFormatNames[static_cast<std::size_t>(field)];
  }
};

Json values_to_json(const Graph& graph) {
  Json values = Json::array();
  std::size_t constants = 0;
  for (const Value& value : graph.values) {
    Json json;
    json["name"] = value.name;
    json["dims"] = value.dims;
    if (value.constant) json["constant"] = constants++;
    values.push_back(std::move(json));
  }
  return values;
}

Json node_to_json(const Node& node) {
  Json json;
  json["name"] = node.name;
  json["op"] = operator_name(node.op);
  Json inputs = Json::array();
  for (const ValueId id : node.inputs) inputs.push_back(id == kNone ? Json(nullptr) : Json(id));
  json["inputs"] = std::move(inputs);
  json["output"] = node.output;
  if (node.role != Role::none) json["role"] = name(node.role);
  if (node.precision != Precision::fp32) json["precision"] = name(node.precision);
  if (node.precision == Precision::int8) {
    json["input_scale"] = node.input_quantization.scale;
    json["input_zero_point"] = node.input_quantization.zero_point;
  }
  if (node.precision == Precision::fp8) json["input_scales"] = node.input_scales;
  FieldWriter writer{json};
  std::visit([&](const auto& op) { visit_fields(writer, op); }, node.op);
  return json;
}

}  // namespace

Json to_json(const Graph& graph) {
  Json json;
  json["name"] = graph.name;
  json["input"] = graph.input;
  json["outputs"] = Json::array();
  for (const Output& output : graph.outputs) {
    Json entry;
    entry["name"] = output.name;
    entry["value"] = output.value;
    json["outputs"].push_back(std::move(entry));
  }
  json["values"] = values_to_json(graph);
  json["nodes"] = Json::array();
  for (const Node& node : graph.nodes) json["nodes"].push_back(node_to_json(node));
  return json;
}

}  // namespace assay::graph
