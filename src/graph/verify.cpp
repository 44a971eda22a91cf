#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/verify_precision.h"

namespace assay::graph {
namespace {

constexpr std::size_t kMaxRank = 8;
constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;
constexpr std::size_t kMaxNodes = std::size_t{1} << 20;
constexpr std::size_t kMaxValues = 8 * kMaxNodes;

template <typename... Args>
[[noreturn]] void refuse(const Graph& graph, fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorKind::corrupt, "graph '{}': {}", graph.name,
       fmt::format(format, std::forward<Args>(args)...));
}

void check_dims(const Graph& graph, const Value& value) {
  if (value.dims.size() > kMaxRank) {
    refuse(graph, "value '{}' has rank {}, the limit is {}", value.name, value.dims.size(),
           kMaxRank);
  }
  std::int64_t product = 1;  // at most 2^31 × 2^24 before the check: no overflow
  for (const std::int64_t dim : value.dims) {
    if (dim < 1 || dim > kMaxDim) {
      refuse(graph, "value '{}' is {}: dimensions are 1 to {}", value.name, to_string(value.dims),
             kMaxDim);
    }
    product *= dim;
    if (product > kMaxElements) {
      refuse(graph, "value '{}' is {}: over {} elements", value.name, to_string(value.dims),
             kMaxElements);
    }
  }
}

void check_constant(const Graph& graph, const Value& value) {
  const Constant& constant = *value.constant;
  if (!is_constant_type(constant.dtype) && !is_code_type(constant.dtype)) {
    refuse(graph, "constant '{}' has type {}, a floating type, I8 or F4 is needed", value.name,
           name(constant.dtype));
  }
  constexpr std::size_t kByte = 8;  // bits
  const std::size_t bits = static_cast<std::size_t>(elements(value.dims)) *
                           static_cast<std::size_t>(size_in_bits(constant.dtype));
  const std::size_t wanted = (bits + kByte - 1) / kByte;
  if (constant.bytes.size() != wanted) {
    refuse(graph, "constant '{}' holds {} bytes, {} of {} need {}", value.name,
           constant.bytes.size(), to_string(value.dims), name(constant.dtype), wanted);
  }
}

void check_values(const Graph& graph) {
  if (graph.values.size() > kMaxValues) {
    refuse(graph, "{} values, the limit is {}", graph.values.size(), kMaxValues);
  }
  std::unordered_set<std::string_view> names;
  for (const Value& value : graph.values) {
    if (value.name.empty() || !names.insert(value.name).second) {
      refuse(graph, "the value name '{}' is empty or appears twice", value.name);
    }
    check_dims(graph, value);
    if (value.constant) check_constant(graph, value);
  }
}

/// Which values hold numbers by now: the input, constants, then each node's output in turn.
std::vector<bool> initially_known(const Graph& graph) {
  std::vector<bool> known(graph.values.size(), false);
  for (std::size_t i = 0; i < known.size(); ++i) known[i] = graph.values[i].constant.has_value();
  if (graph.input >= graph.values.size() || known[graph.input]) {
    refuse(graph, "the input is not an activation of the graph");
  }
  const Dims& dims = graph.values[graph.input].dims;
  if (dims.size() != 3 || dims[2] != 3) {
    refuse(graph, "the input is {}, [H, W, 3] is needed", to_string(dims));
  }
  known[graph.input] = true;
  return known;
}

void check_node(const Graph& graph, const Node& node, const std::vector<bool>& known) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const bool optional = i >= 2 && (std::holds_alternative<Conv2d>(node.op) ||
                                     std::holds_alternative<Linear>(node.op));
    if (id == kNone && optional) continue;
    if (id >= known.size()) refuse(graph, "node '{}': input {} does not exist", node.name, i);
    if (!known[id]) {
      refuse(graph, "node '{}' reads '{}' before it is computed", node.name, graph.values[id].name);
    }
  }
  if (node.output >= known.size() || known[node.output]) {
    refuse(graph, "node '{}' writes a value that does not exist or has numbers already", node.name);
  }
  Dims inferred;
  try {
    inferred = infer_shape(graph, node);
  } catch (const Error& error) {
    refuse(graph, "{}", error.what());
  }
  if (inferred != graph.values[node.output].dims) {
    refuse(graph, "node '{}' gives {}, its value '{}' is said to be {}", node.name,
           to_string(inferred), graph.values[node.output].name,
           to_string(graph.values[node.output].dims));
  }
  const std::string problem = precision_problem(graph, node);
  if (!problem.empty()) refuse(graph, "node '{}': {}", node.name, problem);
}

/// Codes that are read are a weight's by now; those that are not could be anything.
void check_codes_are_read(const Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      if (id != kNone) read[id] = true;
    }
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    const Value& value = graph.values[i];
    if (!read[i] && value.constant && is_code_type(value.constant->dtype)) {
      refuse(graph, "constant '{}' is {}, but is no node's weight", value.name,
             name(value.constant->dtype));
    }
  }
}

void check_outputs(const Graph& graph, const std::vector<bool>& computed) {
  if (graph.outputs.empty()) refuse(graph, "there is no output");
  std::unordered_set<std::string_view> names;
  for (const Output& output : graph.outputs) {
    if (output.name.empty() || !names.insert(output.name).second) {
      refuse(graph, "the output name '{}' is empty or appears twice", output.name);
    }
    if (output.value >= computed.size() || !computed[output.value]) {
      refuse(graph, "output '{}' is not computed by a node", output.name);
    }
  }
}

}  // namespace

void verify(const Graph& graph) {
  if (graph.nodes.size() > kMaxNodes) {
    refuse(graph, "{} nodes, the limit is {}", graph.nodes.size(), kMaxNodes);
  }
  check_values(graph);
  std::vector<bool> known = initially_known(graph);
  std::vector<bool> computed(graph.values.size(), false);
  std::unordered_set<std::string_view> names;
  for (const Node& node : graph.nodes) {
    if (node.name.empty() || !names.insert(node.name).second) {
      refuse(graph, "the node name '{}' is empty or appears twice", node.name);
    }
    check_node(graph, node, known);
    known[node.output] = true;
    computed[node.output] = true;
  }
  const auto orphan = std::find(known.begin(), known.end(), false);
  if (orphan != known.end()) {
    refuse(graph, "nothing computes the value '{}'",
           graph.values[static_cast<std::size_t>(orphan - known.begin())].name);
  }
  check_codes_are_read(graph);
  check_outputs(graph, computed);
}

}  // namespace assay::graph
