#include "backend/cpu/lowering.h"

#include <algorithm>
#include <utility>

#include "backend/cpu/inverted_residual.h"
#include "backend/cpu/kernels/normalize.h"
#include "backend/cpu/margin.h"
#include "backend/cpu/narrow_fusion.h"
#include "backend/cpu/one_query_attention.h"
#include "backend/flops.h"
#include "base/error.h"

namespace assay::backend::cpu {
namespace {

/// Below this much work a step is done by one worker: handing out shares would cost more. In
/// multiply-adds, and in numbers moved.
constexpr std::uint64_t kSerialFlops = 60'000;
constexpr std::int64_t kSerialNumbers = 4'096;

std::int64_t width_of(const graph::Dims& dims) { return dims.empty() ? 1 : dims.back(); }

}  // namespace

Lowering::Lowering(const graph::Graph& graph, const LowerOptions& options)
    : graph_(graph),
      options_(options),
      fused_(options.optimization_level > 0),
      wishes_(fused_ ? plan_layout(graph) : std::vector<Wish>(graph.values.size())),
      readers_(graph.values.size()) {
  program_.places.resize(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const graph::ValueId input : graph.nodes[i].inputs) {
      if (input != graph::kNone) readers_[input].push_back(i);
    }
  }
}

Program Lowering::finish() {
  lower_input();
  for (node_index_ = 0; node_index_ < graph_.nodes.size(); ++node_index_) {
    const std::size_t first = node_index_;
    const std::size_t count = fused_ ? group_size(first) : 1;
    // Inputs of the whole group that nothing reads after it may be written over by its last node.
    node_index_ += count - 1;
    const graph::Node& node = graph_.nodes[node_index_];
    if (count == 1) {
      std::visit([&](const auto& op) { lower_node(*this, node, op); }, node.op);
    } else if (is_inverted_residual(graph_, first)) {
      lower_inverted_residual(*this, first);
    } else if (is_one_query_attention(graph_, first)) {
      lower_one_query_attention(*this, first);
    } else {
      lower_narrow_group(*this, first, count);
    }
    program_.steps.back().materialized.push_back(graph_.nodes[node_index_].output);
    program_.steps.back().info.choices = std::exchange(choices_, {});
  }
  check_tactics();
  zero_margins();
  plan_memory();
  return std::move(program_);
}

std::size_t Lowering::group_size(std::size_t first) {
  if (is_inverted_residual(graph_, first) || is_one_query_attention(graph_, first)) return 3;
  const std::size_t count = narrow_group(graph_, first);
  if (!is_mlp_group(graph_, first, count)) return count;
  if (choose(graph_.nodes[first + count - 1], {"mlp", "apart"}) == "mlp") return count;
  choices_.clear();  // they are the last node's, which is not in this step any more
  return count - 1;
}

void Lowering::lower_input() {
  const graph::ValueId input = graph_.input;
  const Place place = wishes_[input].margin != std::array<std::int64_t, 2>{0, 0}
                          ? new_image_place(dims(input), wishes_[input].margin)
                          : new_place(input);
  set_place(input, place);
  const graph::Node node{graph_.value(input).name, graph::Reshape{}, {}, input};
  Step& step =
      add_step(node, "normalize", {place},
               [place, table = rgb_table(options_.normalization.mean, options_.normalization.std)](
                   const RunContext& context, Worker worker) {
                 const Range rows = share(place.rows, worker);
                 for (std::int64_t row = rows.begin; row < rows.end;) {
                   const std::int64_t run = std::min(place.run_from(row), rows.end - row);
                   const std::int64_t first = row * place.width;
                   float* const to = context.write(place) + place.offset_of(row);
                   if (context.rgb != nullptr) {
                     normalize_rgb(context.rgb + first, to, run, table);
                   } else {
                     std::copy_n(context.tensor + first, run * place.width, to);
                   }
                   row += run;
                 }
               });
  step.info.operation = "input";
}

Place Lowering::place_of(graph::ValueId value) {
  Place& place = program_.places[value];
  if (place.block >= 0) return place;
  const graph::Value& stored = graph_.value(value);
  if (!stored.constant) {
    fail(ErrorKind::internal, "value '{}' is read before it is computed", stored.name);
  }
  const std::vector<float> numbers = graph::to_f32(*stored.constant);
  float* const kept = program_.constants.allocate(numbers.size());
  std::ranges::copy(numbers, kept);
  const int block = new_block(static_cast<std::int64_t>(numbers.size()));
  program_.blocks[static_cast<std::size_t>(block)].constant = kept;
  const std::int64_t width = width_of(stored.dims);
  place = dense_place(block, graph::elements(stored.dims) / width, width);
  return place;
}

Place Lowering::dense_place_of(graph::ValueId value, const graph::Node& reader) {
  const Place from = place_of(value);
  if (from.dense()) return from;
  const Place to = new_place(value);
  add_copy(reader, "copy", from, to);
  return to;
}

Place Lowering::place_output(const graph::Node& node) {
  Place& place = program_.places[node.output];
  if (place.block >= 0) return place;  // a whole whose parts came first
  const Wish& wish = wishes_[node.output];
  if (wish.whole != graph::kNone) {
    place = placed_within(node.output);
  } else if (wish.margin != std::array<std::int64_t, 2>{0, 0}) {
    place = new_image_place(dims(node.output), wish.margin);
  } else {
    place = new_place(node.output);
  }
  return place;
}

Place Lowering::placed_within(graph::ValueId value) {
  const Wish& wish = wishes_[value];
  // The whole's own node comes later; its place is needed now.
  const Place whole = place_output(graph::Node{{}, graph::Reshape{}, {}, wish.whole});
  Place part = whole;
  part.offset += wish.row_begin * whole.row_stride + wish.column_begin;
  part.width = width_of(dims(value));
  part.rows = graph::elements(dims(value)) / part.width;
  if (part.rows != whole.rows) {
    part.line_rows = part.rows;
    part.line_stride = part.rows * part.row_stride;
  }
  return part;
}

Place Lowering::new_place(graph::ValueId value) {
  const std::int64_t width = width_of(dims(value));
  const std::int64_t count = graph::elements(dims(value));
  return dense_place(new_block(count), count / width, width);
}

Place Lowering::new_image_place(const graph::Dims& dims, std::array<std::int64_t, 2> margin) {
  const std::int64_t line = (dims[1] + 2 * margin[1]) * dims[2];
  Place place;
  place.block = new_block(line * (dims[0] + 2 * margin[0]));
  place.offset = margin[0] * line + margin[1] * dims[2];
  place.rows = dims[0] * dims[1];
  place.width = dims[2];
  place.row_stride = dims[2];
  place.line_rows = dims[1];
  place.line_stride = line;
  place.margin_height = margin[0];
  place.margin_width = margin[1];
  margins_.push_back(place);
  return place;
}

void Lowering::set_place(graph::ValueId value, const Place& place) {
  program_.places[value] = place;
}

std::vector<float> Lowering::weight(const graph::Node& node, std::size_t input,
                                    std::string_view role) const {
  const graph::Value& value = graph_.value(node.inputs[input]);
  if (!value.constant) {
    fail(ErrorKind::unsupported,
         "{}: its {} '{}' is computed; the cpu backend needs it to be a constant", node.name, role,
         value.name);
  }
  return graph::to_f32(*value.constant);
}

std::vector<float> Lowering::optional_weight(const graph::Node& node, std::size_t input,
                                             std::string_view role) const {
  if (input >= node.inputs.size() || node.inputs[input] == graph::kNone) return {};
  return weight(node, input, role);
}

std::string Lowering::choose(const graph::Node& node,
                             std::initializer_list<std::string_view> choices) {
  choices_.assign(choices.begin(), choices.end());
  const auto tuned = options_.tactics.find(node.name);
  if (tuned == options_.tactics.end() ||
      std::ranges::find(choices, tuned->second) == choices.end()) {
    return choices_.front();
  }
  chosen_.insert(node.name);
  return tuned->second;
}

void Lowering::check_tactics() const {
  for (const auto& [step, tactic] : options_.tactics) {
    if (chosen_.contains(step)) continue;
    fail(ErrorKind::unsupported,
         "tuning says '{}' for step '{}', which has no such tactic here; tune again", tactic, step);
  }
}

Step& Lowering::add_step(const graph::Node& node, std::string_view tactic,
                         std::vector<Place> places, StepBody body) {
  Step step;
  step.info.name = node.name;
  step.info.operation = graph::operator_name(node.op);
  step.info.tactic = tactic;
  step.info.output = dims(node.output);
  if (!node.inputs.empty()) {
    step.info.flops = count_flops(graph_, node);
    step.info.weight_bytes = constant_bytes(graph_, node);
  }
  std::int64_t numbers = 0;
  for (const Place& place : places) {
    step.blocks.push_back(place.block);
    numbers += place.count();
  }
  step.serial = step.info.flops < kSerialFlops && numbers < kSerialNumbers;
  step.body = std::move(body);
  program_.steps.push_back(std::move(step));
  return program_.steps.back();
}

void Lowering::add_copy(const graph::Node& node, std::string_view tactic, const Place& from,
                        const Place& to) {
  Step& step = add_step(
      node, tactic, {from, to}, [from, to](const RunContext& context, const Worker& worker) {
        const Range rows = share(from.rows, worker);
        for (std::int64_t row = rows.begin; row < rows.end;) {
          const std::int64_t run = std::min({from.run_from(row), to.run_from(row), rows.end - row});
          copy_rows(context.read(from) + from.offset_of(row), from.row_stride,
                    context.write(to) + to.offset_of(row), to.row_stride, run, from.width);
          row += run;
        }
      });
  step.info.flops = 0;
  step.info.weight_bytes = 0;
}

int Lowering::new_block(std::int64_t floats) {
  program_.blocks.push_back({floats, 0, nullptr});
  return static_cast<int>(program_.blocks.size()) - 1;
}

}  // namespace assay::backend::cpu
