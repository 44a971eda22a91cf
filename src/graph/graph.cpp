#include "graph/graph.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace assay::graph {

std::int64_t elements(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

namespace {

constexpr std::array<std::string_view, kPrecisions.size()> kPrecisionNames{"fp32", "fp16", "bf16",
                                                                           "int8", "fp8",  "nvfp4"};
constexpr std::array<std::string_view, 17> kRoleNames{"none",
                                                      "convolution",
                                                      "depthwise",
                                                      "expand",
                                                      "project",
                                                      "patch_embedding",
                                                      "stem",
                                                      "qkv",
                                                      "query",
                                                      "key",
                                                      "value",
                                                      "attention",
                                                      "attention_projection",
                                                      "fc1",
                                                      "fc2",
                                                      "class_projection",
                                                      "classifier"};

/// The enumerator whose name is `text`, by its place among `names`.
template <typename Enum, std::size_t count>
std::optional<Enum> from_name(const std::array<std::string_view, count>& names,
                              std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name(Precision precision) {
  return kPrecisionNames.at(static_cast<std::size_t>(precision));
}

std::optional<Precision> precision_from_name(std::string_view name) {
  return from_name<Precision>(kPrecisionNames, name);
}

std::string_view name(Role role) { return kRoleNames.at(static_cast<std::size_t>(role)); }

std::optional<Role> role_from_name(std::string_view name) {
  return from_name<Role>(kRoleNames, name);
}

bool can_have(const Operator& op, Precision precision) {
  if (precision == Precision::fp32) return true;
  if (const auto* conv = std::get_if<Conv2d>(&op)) return conv->groups == 1;
  if (std::holds_alternative<Attention>(op)) {
    return precision != Precision::int8 && precision != Precision::nvfp4;
  }
  return std::holds_alternative<Linear>(op);
}

std::string to_string(std::span<const std::int64_t> dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

namespace {

struct NameOf {
  std::string_view operator()(const Conv2d&) const { return "conv2d"; }
  std::string_view operator()(const Linear&) const { return "linear"; }
  std::string_view operator()(const LayerNorm&) const { return "layer_norm"; }
  std::string_view operator()(const BatchNorm&) const { return "batch_norm"; }
  std::string_view operator()(const Attention&) const { return "attention"; }
  std::string_view operator()(const Activate&) const { return "activate"; }
  std::string_view operator()(const Softmax&) const { return "softmax"; }
  std::string_view operator()(const Add&) const { return "add"; }
  std::string_view operator()(const Mul&) const { return "mul"; }
  std::string_view operator()(const Concat&) const { return "concat"; }
  std::string_view operator()(const Slice&) const { return "slice"; }
  std::string_view operator()(const Reshape&) const { return "reshape"; }
  std::string_view operator()(const Transpose&) const { return "transpose"; }
  std::string_view operator()(const Resize&) const { return "resize"; }
  std::string_view operator()(const Mean&) const { return "mean"; }
  std::string_view operator()(const FakeQuantize&) const { return "fake_quantize"; }
};

}  // namespace

std::string_view operator_name(const Operator& op) { return std::visit(NameOf{}, op); }

ValueId Graph::output(std::string_view output_name) const {
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const Output& candidate) {
    return candidate.name == output_name;
  });
  if (found == outputs.end()) {
    fail(ErrorKind::not_found, "graph '{}' has no output named '{}'", name, output_name);
  }
  return found->value;
}

}  // namespace assay::graph
