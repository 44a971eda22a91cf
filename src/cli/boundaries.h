#pragma once
/// The three boundaries that `assay bench` times.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/assay.h"
#include "pipeline/measure.h"

namespace assay::cli {

/// A boundary by name, and in words where its time starts and stops.
struct Boundary {
  std::string_view name;
  std::string_view what;
};
inline constexpr Boundary kDevice{"device", "resident normalized tensor to resident logits"};
inline constexpr Boundary kCall{"call",
                                "resized and cropped 8-bit RGB on the host to logits on the host"};
inline constexpr Boundary kEndToEnd{"e2e", "encoded file bytes to labels"};

/// A classifier with inputs to time it on: several random ones in rotation, so that no run finds
/// its input in the nearest cache because the last one left it there.
class BoundaryInputs {
 public:
  /// `photo` is an encoded image file for the end-to-end boundary.
  BoundaryInputs(Classifier classifier, int batch, std::vector<std::byte> photo);
  BoundaryInputs(const BoundaryInputs&) = delete;
  BoundaryInputs& operator=(const BoundaryInputs&) = delete;
  ~BoundaryInputs();

  /// One candidate a boundary; they live as long as this object.
  [[nodiscard]] pipeline::Candidate candidate(const Boundary& boundary);

  /// Runs every boundary twice on every input, before anything is timed. Throws internal where
  /// logits are not finite, differ between the two runs, or differ between the device and the call
  /// boundary by more than rounding.
  void verify();

  static constexpr int kInputs = 8;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::cli
