#pragma once
/// Watching what the products of an fp32 graph read.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "quant/calibration.h"

namespace assay::quant {

/// Whether the node's input 0 is calibrated: linear layers and ungrouped convolutions.
bool is_calibrated(const graph::Node& node);

/// The observer "max": the smallest and the largest number that each product's input held, over all
/// images. Runs the graph on the cpu backend without any fusion, so that every input exists. Keeps
/// two numbers a value and one image's activations. For one thread at a time.
class MaxObserver {
 public:
  /// Throws bad_input for a graph that is not fp32 throughout; otherwise as backend::lower.
  MaxObserver(std::shared_ptr<const graph::Graph> graph, int threads);

  /// Runs one image: H × W × 3, normalized. Throws bad_input naming the layer where an input is not
  /// finite; nothing is to be had from the observer after that.
  void observe(std::span<const float> image);

  [[nodiscard]] std::uint64_t images() const { return images_; }
  /// One entry a product, in execution order; layers that read one value have equal ranges. Throws
  /// bad_input before the first image.
  [[nodiscard]] std::vector<LayerRange> layers() const;

 private:
  void look_at(const std::string& value, std::span<const float> numbers);

  std::shared_ptr<const graph::Graph> graph_;
  std::unique_ptr<backend::Plan> plan_;
  std::unique_ptr<backend::Session> session_;
  std::unordered_map<std::string, Range> ranges_;  ///< by name of a value that a product reads
  std::string not_finite_;                         ///< such a value, where one was met
  std::uint64_t images_ = 0;
};

}  // namespace assay::quant
