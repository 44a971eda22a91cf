#pragma once
/// What each kind of dataset is to the common code that selects and counts.
#include <cstdint>
#include <optional>

#include "pipeline/dataset.h"

namespace assay::pipeline {

/// All samples of a dataset in order; it sets everything of a Sample but its index.
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const = 0;
  /// Passes one sample over without reading it; false at the end.
  virtual bool skip() = 0;
  virtual std::optional<Sample> next() = 0;
};

}  // namespace assay::pipeline
