#include "backend/cpu/lowering.h"

#include <algorithm>

#include "backend/cpu/arena.h"
#include "backend/cpu/inverted_residual.h"
#include "backend/cpu/kernels/normalize.h"
#include "backend/cpu/margin.h"
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
    if (fused_ && is_inverted_residual(graph_, node_index_)) {
      lower_inverted_residual(*this, node_index_);
      node_index_ += 2;
    } else {
      const graph::Node& node = graph_.nodes[node_index_];
      std::visit([&](const auto& op) { lower_node(*this, node, op); }, node.op);
    }
    program_.steps.back().materialized.push_back(graph_.nodes[node_index_].output);
  }
  zero_margins();
  plan_memory();
  return std::move(program_);
}

void Lowering::lower_input() {
  const graph::ValueId input = graph_.input;
  const Place place = wishes_[input].margin != std::array<std::int64_t, 2>{0, 0}
                          ? new_image_place(dims(input), wishes_[input].margin)
                          : new_place(input);
  set_place(input, place);
  const graph::Node node{graph_.value(input).name, graph::Reshape{}, {}, input};
  Step& step = add_step(
      node, "normalize", {place},
      [place, normalization = options_.normalization](const RunContext& context, Worker worker) {
        const std::int64_t length = place.line_rows * place.width;
        const Range lines = share(place.lines(), worker);
        for (std::int64_t line = lines.begin; line < lines.end; ++line) {
          float* const to = context.write(place) + line * place.line_stride;
          if (context.rgb != nullptr) {
            normalize_rgb(context.rgb + line * length, to, place.line_rows, normalization.mean,
                          normalization.std);
          } else {
            std::copy_n(context.tensor + line * length, length, to);
          }
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

bool Lowering::dies_here(int block) const {
  for (graph::ValueId value = 0; value < program_.places.size(); ++value) {
    if (program_.places[value].block != block) continue;
    const bool output = std::ranges::any_of(
        graph_.outputs, [value](const graph::Output& o) { return o.value == value; });
    if (output || (!readers_[value].empty() && readers_[value].back() > node_index_)) return false;
  }
  return true;
}

bool Lowering::reuse(const graph::Node& node, graph::ValueId input) {
  const Wish& wish = wishes_[node.output];
  if (!fused_ || wish.whole != graph::kNone || wish.margin != std::array<std::int64_t, 2>{0, 0}) {
    return false;
  }
  if (graph_.value(input).constant || dims(input) != dims(node.output)) return false;
  const Place place = place_of(input);
  const std::int64_t floats = program_.blocks[static_cast<std::size_t>(place.block)].floats;
  if (!place.dense() || place.count() != floats || !dies_here(place.block)) return false;
  // What the node reads elsewhere in the block would be overwritten under its hands.
  for (const graph::ValueId other : node.inputs) {
    if (other != graph::kNone && other != input && program_.places[other].block == place.block) {
      return false;
    }
  }
  set_place(node.output, place);
  return true;
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
  Step& step =
      add_step(node, tactic, {from, to}, [from, to](const RunContext& context, Worker worker) {
        const std::int64_t from_line = from.single_line() ? to.line_rows : from.line_rows;
        const std::int64_t length =
            std::min(from_line, to.single_line() ? from_line : to.line_rows);
        const Range pieces = share(from.rows / length, worker);
        const auto at = [length](const Place& place, std::int64_t piece) {
          const std::int64_t row = piece * length;
          return row / place.line_rows * place.line_stride +
                 row % place.line_rows * place.row_stride;
        };
        for (std::int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
          copy_rows(context.read(from) + at(from, piece), from.row_stride,
                    context.write(to) + at(to, piece), to.row_stride, length, from.width);
        }
      });
  step.info.flops = 0;
  step.info.weight_bytes = 0;
}

int Lowering::new_block(std::int64_t floats) {
  program_.blocks.push_back({floats, 0, nullptr});
  return static_cast<int>(program_.blocks.size()) - 1;
}

/// The arena's places are shared over time, so a margin is zeroed in every run: by the first step
/// that touches the block, whose own writes lie elsewhere.
void Lowering::zero_margins() {
  for (const Place& place : margins_) {
    const auto first = std::ranges::find_if(program_.steps, [&](const Step& step) {
      return std::ranges::find(step.blocks, place.block) != step.blocks.end();
    });
    if (first == program_.steps.end()) continue;
    first->body = [place, body = std::move(first->body)](const RunContext& context, Worker worker) {
      zero_margin(place, context.write(place),
                  share(place.lines() + 2 * place.margin_height, worker));
      body(context, worker);
    };
  }
}

void Lowering::plan_memory() {
  const int steps = static_cast<int>(program_.steps.size());
  std::vector<Lifetime> lifetimes(program_.blocks.size());
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    lifetimes[i] = {program_.blocks[i].floats, steps, -1};
  }
  for (int i = 0; i < steps; ++i) {
    const Step& step = program_.steps[static_cast<std::size_t>(i)];
    program_.scratch_floats = std::max(program_.scratch_floats, step.scratch);
    for (const int block : step.blocks) {
      Lifetime& lifetime = lifetimes[static_cast<std::size_t>(block)];
      lifetime.first = std::min(lifetime.first, i);
      lifetime.last = std::max(lifetime.last, i);
    }
  }
  for (const graph::Output& output : graph_.outputs) {
    lifetimes[static_cast<std::size_t>(place_of(output.value).block)].last = steps;
  }
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (program_.blocks[i].constant != nullptr) lifetimes[i].last = -1;
  }
  const ArenaPlan plan = plan_arena(lifetimes);
  program_.arena_floats = plan.floats;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    program_.blocks[i].arena_offset = plan.offsets[i];
  }
}

}  // namespace assay::backend::cpu
