/// Where a lowering puts values.
#include "backend/cuda/lowering.h"
#include "base/error.h"

namespace assay::backend::cuda {

Place Lowering::place_of(graph::ValueId value) {
  const Place& place = program_.places[value];
  if (place.block >= 0) return place;
  if (const auto refolded = refolded_.find(value); refolded != refolded_.end()) {
    Place seen = place_of(refolded->second);
    seen.map_width = 0;
    seen.patch = 0;
    set_place(value, seen);
    lowered_.emplace_back(value, program_.steps.size());
  } else if (const graph::Node* const node = put_off_[value]) {
    lower(*node);
  } else if (graph_.value(value).constant) {
    set_place(value, constant_place(value));
  } else {
    fail(ErrorKind::internal, "value '{}' is read before it is computed", graph_.value(value).name);
  }
  return program_.places[value];
}

Place Lowering::constant_place(graph::ValueId value) {
  const graph::Value& stored = graph_.value(value);
  const std::vector<float> numbers = graph::to_f32(*stored.constant);
  const auto count = static_cast<std::int64_t>(numbers.size());
  const int block = new_block(count, Store::f32);
  Block& made = program_.blocks[static_cast<std::size_t>(block)];
  made.constant = true;
  made.offset = constants().keep(std::span<const float>(numbers)).offset;
  const std::int64_t width = width_of(stored.dims);
  return dense_place(block, count / width, width);
}

Place Lowering::ordered_place_of(graph::ValueId value, const graph::Node& reader) {
  return ordered(place_of(value), reader);
}

Place Lowering::ordered(const Place& place, const graph::Node& reader) {
  if (!place.unfolded()) return place;
  const Place to = new_place(place.rows, place.width);
  add_copy(reader, place, to);
  return to;
}

Place Lowering::dense_place_of(graph::ValueId value, const graph::Node& reader) {
  Place from = place_of(value);
  if (!from.dense()) {
    const Place to = new_place(from.rows, from.width);
    add_copy(reader, from, to);
    return to;
  }
  from.row_stride = from.width;  // a single row may have another
  return from;
}

Place Lowering::place_output(const graph::Node& node, const Place& like) {
  const graph::ValueId value = node.output;
  if (program_.places[value].block >= 0) return program_.places[value];  // its parts came first
  const Wish& wish = wishes_[value];
  Place place;
  if (wish.whole != graph::kNone && !like.unfolded()) {
    place = placed_within(value);
  } else if (wish.over != graph::kNone) {
    place = place_of(wish.over);
  }
  if (place.block < 0 || place.unfolded()) {
    const std::int64_t width = width_of(dims(value));
    const std::int64_t count = graph::elements(dims(value));
    place = dense_place(new_block(count, store_of(value)), count / width, width);
  }
  place.map_width = like.map_width;
  place.patch = like.patch;
  set_place(value, place);
  return place;
}

Place Lowering::placed_within(graph::ValueId value) {
  const Wish& wish = wishes_[value];
  // The whole's own node comes later; its place is needed now.
  Place part = place_output(graph::Node{{}, graph::Reshape{}, {}, wish.whole});
  part.offset += wish.row_begin * part.row_stride + wish.column_begin;
  part.width = width_of(dims(value));
  part.rows = graph::elements(dims(value)) / part.width;
  return part;
}

Place Lowering::new_place(std::int64_t rows, std::int64_t width) {
  return dense_place(new_block(rows * width, store_), rows, width);
}

void Lowering::set_place(graph::ValueId value, const Place& place) {
  program_.places[value] = place;
}

/// What the graph gives away is fp32, whatever lies in between.
Store Lowering::store_of(graph::ValueId value) const {
  return consumers_.is_output(value) ? Store::f32 : store_;
}

int Lowering::new_block(std::int64_t numbers, Store store) {
  program_.blocks.push_back({numbers, store});
  return static_cast<int>(program_.blocks.size()) - 1;
}

}  // namespace assay::backend::cuda
