#pragma once
/// Taps laid out as the two kernels read them.
#include "image/resample_kernels.h"
#include "image/taps.h"

namespace assay::image {

/// The horizontal weights of a resize. Columns count from input_begin().
class RowTaps {
 public:
  /// Computes and packs the weights of `axis`; does nothing where they are what it has.
  void prepare(const Axis& axis);

  [[nodiscard]] RowWeights weights() const;
  [[nodiscard]] std::size_t input_begin() const { return static_cast<std::size_t>(begin_); }
  [[nodiscard]] std::size_t input_end() const { return static_cast<std::size_t>(end_); }
  /// The kernel reads bytes [0, reach()) from column input_begin() on.
  [[nodiscard]] std::size_t reach() const { return reach_; }

 private:
  Axis axis_;
  Taps taps_;
  std::vector<std::int32_t> start_;
  std::vector<std::int32_t> packed_;
  std::size_t chunks_ = 0;
  std::size_t reach_ = 0;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

/// The vertical weights of a resize.
class ColumnTaps {
 public:
  /// As RowTaps::prepare.
  void prepare(const Axis& axis);

  /// The input rows of output i: [first_input(i), end_input(i)).
  [[nodiscard]] std::int64_t first_input(std::int64_t i) const { return taps_.first_input(i); }
  [[nodiscard]] std::int64_t end_input(std::int64_t i) const {
    return taps_.first_input(i) + static_cast<std::int64_t>(taps_.weights(i).size());
  }
  [[nodiscard]] std::int64_t max_size() const { return taps_.max_size(); }
  [[nodiscard]] std::int64_t input_begin() const { return taps_.input_begin(); }
  [[nodiscard]] std::int64_t input_end() const { return taps_.input_end(); }

  /// Pairs of rows that make output i, the last of which may have a weightless second row.
  [[nodiscard]] std::size_t pairs(std::int64_t i) const {
    return (taps_.weights(i).size() + 1) / 2;
  }
  [[nodiscard]] const std::int32_t* packed(std::int64_t i) const {
    return packed_.data() + offsets_[static_cast<std::size_t>(i)];
  }

 private:
  Axis axis_;
  Taps taps_;
  std::vector<std::size_t> offsets_;
  std::vector<std::int32_t> packed_;
};

}  // namespace assay::image
