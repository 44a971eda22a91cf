#pragma once
/// The three boundaries at which a classifier is timed.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/assay.h"
#include "image/image.h"
#include "pipeline/measure.h"

namespace assay::pipeline {

/// A boundary by name, and in words where its time starts and stops.
struct Boundary {
  std::string_view name;
  std::string_view what;
};
inline constexpr Boundary kDevice{"device", "resident normalized tensor to resident logits"};
inline constexpr Boundary kCall{"call",
                                "resized and cropped 8-bit RGB on the host to logits on the host"};
inline constexpr Boundary kEndToEnd{"e2e", "encoded file bytes to labels"};

/// A classifier with inputs to time it on: several in rotation, so that no run finds its input in
/// the nearest cache because the last one left it there.
class BoundaryInputs {
 public:
  /// `images`, resized and cropped already, make up the batches, over again where there are fewer
  /// than kInputs batches of them; `photos` are encoded image files for the end-to-end boundary.
  /// Neither may be empty.
  BoundaryInputs(Classifier classifier, int batch, std::span<const image::Image> images,
                 std::vector<std::vector<std::byte>> photos);
  BoundaryInputs(const BoundaryInputs&) = delete;
  BoundaryInputs& operator=(const BoundaryInputs&) = delete;
  ~BoundaryInputs();

  /// One candidate a boundary; they live as long as this object.
  [[nodiscard]] Candidate candidate(const Boundary& boundary);

  /// Runs every boundary twice on every input, before anything is timed. Throws internal where
  /// logits are not finite, differ between the two runs, or differ between the device and the call
  /// boundary by more than rounding.
  void verify();

  static constexpr int kInputs = 8;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::pipeline
