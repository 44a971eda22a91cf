#pragma once
/// The weights of PIL's 8-bit resampling along one axis.
#include <cstdint>
#include <span>
#include <vector>

#include "image/image.h"

namespace assay::image {

/// One axis of a resize: `in` samples become `out`, of which [first, first + count) are wanted.
struct Axis {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  Interpolation interpolation = Interpolation::bicubic;
  bool operator==(const Axis&) const = default;
};

/// PIL's fixed point: 32 bits less 8 of the sample and 2 of headroom for negative lobes.
inline constexpr int kWeightBits = 32 - 8 - 2;

/// For each wanted output sample the inputs that it is made of, and their weights in fixed point.
/// The arithmetic is that of Pillow's libImaging/Resample.c: the filter is stretched by the scale
/// when shrinking, taps lie within its support around the output's centre, and weights are
/// normalized in double before they are rounded away from zero to kWeightBits.
class Taps {
 public:
  /// Computes the weights of `axis`, keeping the memory of the last call. Throws bad_input where
  /// the weights would take more than a gigabyte.
  void compute(const Axis& axis);

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(spans_.size()); }
  [[nodiscard]] std::int64_t first_input(std::int64_t i) const { return span_of(i).first; }
  [[nodiscard]] std::span<const std::int32_t> weights(std::int64_t i) const {
    return std::span(weights_).subspan(span_of(i).offset, span_of(i).size);
  }
  [[nodiscard]] std::int64_t max_size() const { return max_size_; }
  /// The inputs that any output needs are [input_begin, input_end).
  [[nodiscard]] std::int64_t input_begin() const { return input_begin_; }
  [[nodiscard]] std::int64_t input_end() const { return input_end_; }

 private:
  struct Span {
    std::int64_t first = 0;
    std::size_t offset = 0;
    std::size_t size = 0;
  };
  [[nodiscard]] const Span& span_of(std::int64_t i) const {
    return spans_[static_cast<std::size_t>(i)];
  }

  std::vector<Span> spans_;
  std::vector<std::int32_t> weights_;
  std::vector<double> exact_;
  std::int64_t max_size_ = 0;
  std::int64_t input_begin_ = 0;
  std::int64_t input_end_ = 0;
};

/// For nearest: input index of each wanted output sample, −1 where PIL's running sum leaves the
/// image. PIL adds the scale up in double from sample to sample, so this does too.
void nearest_indices(const Axis& axis, std::vector<std::int64_t>& indices);

}  // namespace assay::image
