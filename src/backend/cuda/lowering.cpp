#include "backend/cuda/lowering.h"

#include <algorithm>

#include "backend/cuda/chains.h"
#include "backend/cuda/fold.h"
#include "backend/cuda/lower_ends.h"
#include "backend/cuda/lower_inverted.h"
#include "backend/cuda/padded_image.h"
#include "backend/cuda/weights.h"
#include "backend/flops.h"
#include "base/error.h"
#include "graph/rewrite.h"

namespace assay::backend::cuda {
namespace {

/// The widest LayerNorm that a product computes for itself, and each product that reads it again.
constexpr std::int64_t kWidestFoldedNorm = 1024;
/// From this many images a call on, the product behind a depthwise convolution computes it itself.
constexpr int kFoldDepthwiseBatch = 16;

/// fp16 holds what lies between products where products are narrower than fp32; a bf16 product may
/// have been chosen for its range, so numbers stay fp32 there.
Store activation_store(const graph::Graph& graph) {
  const bool narrow = std::ranges::any_of(graph.nodes, [](const graph::Node& node) {
    return node.precision == graph::Precision::fp16 || node.precision == graph::Precision::fp8 ||
           node.precision == graph::Precision::nvfp4;
  });
  return narrow ? Store::f16 : Store::f32;
}

}  // namespace

std::int64_t width_of(const graph::Dims& dims) { return dims.empty() ? 1 : dims.back(); }

Act act_of(graph::Activation activation) {
  switch (activation) {
    case graph::Activation::none:
      return Act::none;
    case graph::Activation::gelu:
      return Act::gelu;
    case graph::Activation::silu:
      return Act::silu;
  }
  fail(ErrorKind::internal, "no kernel has the activation {}", static_cast<int>(activation));
}

std::string_view name(Store store) {
  constexpr std::array<std::string_view, 5> kNames{"f16", "bf16", "f32", "e4m3", "u8"};
  return kNames[static_cast<std::size_t>(store)];
}

Lowering::Lowering(const graph::Graph& graph, const LowerOptions& options)
    : graph_(graph),
      options_(options),
      fused_(options.optimization_level > 0),
      store_(activation_store(graph)),
      consumers_(graph),
      wishes_(fused_ ? plan_layout(graph, consumers_) : std::vector<Wish>(graph.values.size())),
      put_off_(graph.values.size(), nullptr) {
  program_.places.resize(graph.values.size());
  if (!options.tactics.empty()) {
    fail(ErrorKind::unsupported,
         "tuning says '{}' for step '{}', and the cuda backend has no tactics to choose from",
         options.tactics.begin()->second, options.tactics.begin()->first);
  }
}

Program Lowering::finish() {
  lower_input();
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const graph::Node& node = graph_.nodes[i];
    if (fused_) {
      if (const std::size_t skipped = skip_fold(i); skipped > 0) {
        i += skipped - 1;
        continue;
      }
      if (const std::size_t together = lower_together(i); together > 0) {
        i += together - 1;
        continue;
      }
      if (can_put_off(node)) {
        put_off_[node.output] = &node;
        continue;
      }
    }
    lower(node);
  }
  lower_outputs();
  if (fused_ && store_ == Store::f16) join_chains(options_.max_batch, program_);
  plan_phases();
  plan_memory();
  finish_chains(graph_, options_.max_batch, program_);
  for (Step& step : program_.steps) finish_step(step);
  return std::move(program_);
}

/// Packs the weights of a step that has stayed alone.
void Lowering::finish_step(Step& step) {
  if (step.attention) {
    step.instruction = [attention = *step.attention](const Addresses& at) {
      return attention.at(at);
    };
  }
  if (!step.product) return;
  ProductStep product = *step.product;
  if (product.norm != nullptr) {
    product.norm_weight = keep(*product.norm, 1, "weight");
    product.norm_bias = keep(*product.norm, 2, "bias");
  }
  product.weight =
      pack_weight(graph_, *product.node, constants(), product.channels_padded, product.n_heads);
  product.product.k_padded = product.weight.k_padded;
  step.instruction = [product](const Addresses& at) { return product.at(at); };
}

void Lowering::lower_input() {
  const graph::ValueId input = graph_.input;
  const graph::Dims& size = dims(input);
  if (size.size() != 3 || size[2] != 3) {
    fail(ErrorKind::unsupported, "the input '{}' is {}; the cuda backend reads images [H, W, 3]",
         graph_.value(input).name, graph::to_string(size));
  }
  if (fused_ && store_ == Store::f16) stem_ = stem_of(graph_, consumers_);
  if (stem_ != nullptr) return;
  const graph::Node node{graph_.value(input).name, graph::Reshape{}, {}, input};
  const Place to = place_image(node);
  Step& step = add_step(node, "normalize", {}, {to}, [to](const Addresses& at) {
    Normalize normalize;
    normalize.rows = static_cast<std::int32_t>(to.rows);
    normalize.to = at.view(to);
    return Instruction(normalize);
  });
  step.info.operation = "input";
  lowered_.emplace_back(input, program_.steps.size());
}

Place Lowering::place_image(const graph::Node& node) {
  const graph::ValueId image = node.output;
  const std::int64_t channels = dims(image).back();
  const std::int64_t wide =
      fused_ && store_ == Store::f16 ? padded_channels(graph_, consumers_, image) : channels;
  if (wide == channels) return place_output(node);
  Place place = new_place(graph::elements(dims(image)) / channels, wide);
  place.width = channels;
  set_place(image, place);
  padded_.insert(image);
  return place;
}

void Lowering::lower(const graph::Node& node) {
  std::visit([&](const auto& op) { lower_node(*this, node, op); }, node.op);
  lowered_.emplace_back(node.output, program_.steps.size());
}

std::size_t Lowering::skip_fold(std::size_t first) {
  const graph::ValueId x = graph_.nodes[first].inputs[0];
  const graph::ValueId last =
      graph_.nodes[std::min(first + kFoldNodes, graph_.nodes.size()) - 1].output;
  if (const auto unfold = unfold_at(graph_, consumers_, first)) {
    Place place = place_of(x);
    if (place.unfolded()) return 0;
    place.map_width = unfold->map_width;
    place.patch = unfold->patch;
    set_place(last, place);
    lowered_.emplace_back(last, program_.steps.size());
    return kFoldNodes;
  }
  const auto fold = fold_at(graph_, consumers_, first);
  if (!fold) return 0;
  // A LayerNorm that is put off has its input's rows.
  const bool norm =
      put_off_[x] != nullptr && std::holds_alternative<graph::LayerNorm>(put_off_[x]->op);
  const Place rows = place_of(norm ? put_off_[x]->inputs[0] : x);
  if (rows.map_width != fold->map_width || rows.patch != fold->patch) return 0;
  refolded_[last] = x;
  return kFoldNodes;
}

std::size_t Lowering::lower_together(std::size_t first) {
  const graph::Node& node = graph_.nodes[first];
  if (&node == stem_) {
    lower_stem(*this, node);
    lowered_.emplace_back(node.output, program_.steps.size());
    return 1;
  }
  if (first + 1 < graph_.nodes.size() && lower_pooled(*this, node, graph_.nodes[first + 1])) {
    for (const std::size_t i : {first, first + 1}) {
      lowered_.emplace_back(graph_.nodes[i].output, program_.steps.size());
    }
    return 2;
  }
  const auto inverted = inverted_at(graph_, consumers_, first);
  if (!inverted || !lower_inverted(*this, *inverted)) return 0;
  lowered_.emplace_back(inverted->project->output, program_.steps.size());
  return kInvertedNodes;
}

/// Products fold in what is put off; for any other reader it is computed when that asks for it.
bool Lowering::can_put_off(const graph::Node& node) const {
  const graph::ValueId x = node.inputs[0];
  if (std::holds_alternative<graph::LayerNorm>(node.op)) {
    return dims(node.output).back() <= kWidestFoldedNorm;
  }
  if (std::holds_alternative<graph::Concat>(node.op)) return wishes_[node.output].apart;
  const graph::Node* const before = put_off_[x];
  if (std::holds_alternative<graph::Activate>(node.op)) {
    return before != nullptr && std::holds_alternative<graph::LayerNorm>(before->op);
  }
  if (const auto* slice = std::get_if<graph::Slice>(&node.op)) {
    return before != nullptr && slice->axis == 0 && dims(x).size() == 2;
  }
  if (std::holds_alternative<graph::Reshape>(node.op)) {
    return before != nullptr && keeps_rows(graph_, node);
  }
  // With few images a depthwise convolution is quicker as a step of its own, which all
  // multiprocessors share: each column of tiles of the product would compute it again.
  if (options_.max_batch < kFoldDepthwiseBatch || !is_depthwise(graph_, node) ||
      graph::input_or_none(node, graph::kResidualInput) != graph::kNone) {
    return false;
  }
  const std::vector<std::size_t>& readers = consumers_.readers(node.output);
  return readers.size() == 1 && !consumers_.is_output(node.output) &&
         is_pointwise(graph_, graph_.nodes[readers[0]]) &&
         graph_.nodes[readers[0]].inputs[0] == node.output;
}

void Lowering::lower_outputs() {
  for (const graph::Output& output : graph_.outputs) {
    const graph::Node node{graph_.value(output.value).name, graph::Reshape{}, {}, output.value};
    Place place = ordered_place_of(output.value, node);
    const Block& block = program_.blocks[static_cast<std::size_t>(place.block)];
    if (!place.dense() || block.constant || block.store != Store::f32) {
      const Place to =
          dense_place(new_block(place.rows * place.width, Store::f32), place.rows, place.width);
      add_copy(node, place, to);
      place = to;
    }
    program_.outputs.insert_or_assign(output.name, place);
  }
}

Step& Lowering::add_step(const graph::Node& node, std::string_view tactic, std::vector<Place> reads,
                         std::vector<Place> writes,
                         std::function<Instruction(const Addresses& at)> instruction) {
  Step step;
  step.info.name = node.name;
  step.info.operation = graph::operator_name(node.op);
  step.info.tactic = tactic;
  step.info.output = dims(node.output);
  if (!node.inputs.empty()) {
    step.info.flops = count_flops(graph_, node);
    step.info.weight_bytes = constant_bytes(graph_, node);
  }
  step.instruction = std::move(instruction);
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  step.order = program_.steps.size();
  program_.steps.push_back(std::move(step));
  return program_.steps.back();
}

Kept Lowering::keep(const graph::Node& node, std::size_t input, std::string_view role) {
  return constants().keep(constant_input(graph_, node, input, role));
}

}  // namespace assay::backend::cuda
