#include "backend/cuda/padded_image.h"

#include <algorithm>

namespace assay::backend::cuda {
namespace {

constexpr std::int64_t kQuad = 4;
constexpr std::int64_t kOctet = 8;

}  // namespace

bool is_patchwise(const graph::Graph& graph, const graph::Node& node) {
  const auto* conv = std::get_if<graph::Conv2d>(&node.op);
  if (conv == nullptr || conv->groups != 1) return false;
  const graph::Dims& weight = graph.value(node.inputs[graph::kWeightInput]).dims;
  const graph::Dims& image = graph.value(node.inputs[0]).dims;
  return conv->stride[0] == weight[2] && conv->stride[1] == weight[3] && conv->padding[0] == 0 &&
         conv->padding[1] == 0 && conv->dilation[0] == 1 && conv->dilation[1] == 1 &&
         image[1] % weight[3] == 0 && weight[3] * kQuad % kOctet == 0;
}

std::int64_t padded_channels(const graph::Graph& graph, const Consumers& consumers,
                             graph::ValueId value) {
  const std::int64_t channels = graph.value(value).dims.back();
  if (channels > kQuad || consumers.is_output(value)) return channels;
  std::int64_t padded = channels;
  for (const std::size_t reader : consumers.readers(value)) {
    const graph::Node& node = graph.nodes[reader];
    std::int64_t wanted = channels;
    if (std::holds_alternative<graph::Resize>(node.op)) {
      wanted = padded_channels(graph, consumers, node.output);
    } else if (const auto* conv = std::get_if<graph::Conv2d>(&node.op); conv && conv->groups == 1) {
      wanted = is_patchwise(graph, node) ? kQuad : kOctet;
    }
    if (wanted == channels) return channels;
    padded = std::max(padded, wanted);
  }
  return padded;
}

Window merged_across(Window window) {
  window.channels *= window.kernel_width;
  window.in_width /= window.kernel_width;
  window.kernel_width = 1;
  window.stride_x = 1;
  return window;
}

}  // namespace assay::backend::cuda
