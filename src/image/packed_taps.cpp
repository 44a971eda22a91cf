#include "image/packed_taps.h"

#include <algorithm>

#include "base/error.h"

namespace assay::image {
namespace {

struct Halves {
  std::int32_t high = 0;
  std::int32_t low = 0;
};

Halves split(std::int32_t weight) {
  const std::int32_t high = (weight + (1 << (kLowBits - 1))) >> kLowBits;
  return {high, weight - (high << kLowBits)};
}

std::int32_t pair_of(std::int32_t first, std::int32_t second) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(second) << 16) |
                                   (static_cast<std::uint32_t>(first) & 0xffffU));
}

/// Weight `i`, or none past the end.
Halves halves_at(std::span<const std::int32_t> weights, std::size_t i) {
  return i < weights.size() ? split(weights[i]) : Halves{};
}

}  // namespace

void RowTaps::prepare(const Axis& axis) {
  if (axis == axis_) return;
  axis_ = Axis{};  // nothing is held if what follows throws
  taps_.compute(axis);
  begin_ = taps_.input_begin();
  end_ = taps_.input_end();
  chunks_ = static_cast<std::size_t>((taps_.max_size() + kTapsPerChunk - 1) / kTapsPerChunk);
  if ((end_ - begin_) * 3 > 0x7fff'0000) {
    fail(ErrorKind::bad_input, "a width of {} pixels is too long to be resized", axis.in);
  }
  start_.clear();
  packed_.clear();
  std::size_t last = 0;
  for (std::int64_t i = 0; i < taps_.count(); ++i) {
    const auto weights = taps_.weights(i);
    last = static_cast<std::size_t>(taps_.first_input(i) - begin_) * 3;
    start_.push_back(static_cast<std::int32_t>(last));
    for (std::size_t tap = 0; tap < chunks_ * kTapsPerChunk; tap += kTapsPerChunk) {
      const Halves a = halves_at(weights, tap);
      const Halves b = halves_at(weights, tap + 1);
      const Halves c = halves_at(weights, tap + 2);
      const Halves d = halves_at(weights, tap + 3);
      packed_.insert(packed_.end(), {pair_of(a.high, b.high), pair_of(c.high, d.high),
                                     pair_of(a.low, b.low), pair_of(c.low, d.low)});
    }
  }
  while (start_.size() % kOutputsAtOnce != 0) {
    start_.push_back(static_cast<std::int32_t>(last));
    packed_.resize(packed_.size() + chunks_ * 4);
  }
  reach_ = last + (chunks_ - 1) * kChunkBytes + kChunkLoad;
  axis_ = axis;
}

RowWeights RowTaps::weights() const {
  return {.outputs = start_.size(),
          .chunks = chunks_,
          .start = start_.data(),
          .packed = packed_.data()};
}

void ColumnTaps::prepare(const Axis& axis) {
  if (axis == axis_) return;
  axis_ = Axis{};
  taps_.compute(axis);
  offsets_.clear();
  packed_.clear();
  for (std::int64_t i = 0; i < taps_.count(); ++i) {
    offsets_.push_back(packed_.size());
    const auto weights = taps_.weights(i);
    for (std::size_t tap = 0; tap < weights.size(); tap += 2) {
      const Halves a = halves_at(weights, tap);
      const Halves b = halves_at(weights, tap + 1);
      packed_.push_back(pair_of(a.high, b.high));
      packed_.push_back(pair_of(a.low, b.low));
    }
  }
  axis_ = axis;
}

}  // namespace assay::image
