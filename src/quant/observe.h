#pragma once
/// Watching what the layers of an fp32 graph read.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "quant/calibration.h"
#include "quant/glimpse.h"
#include "quant/histogram.h"

namespace assay::quant {

/// Whether the node's input 0 is calibrated: linear layers and ungrouped convolutions.
bool is_calibrated(const graph::Node& node);

/// One operand that a calibration tells of.
struct Operand {
  std::string layer;
  std::string name;  ///< "input"; attention has "query", "key" and "value"
  graph::ValueId value = graph::kNone;
  bool channel_max = false;   ///< whether its entry has it
  bool channel_mean = false;  ///< likewise
};
/// All of them, in execution order: input 0 of linear layers and of ungrouped convolutions, and
/// inputs 0 to 2 of attention.
std::vector<Operand> operands_of(const graph::Graph& graph);

/// All observers in one pass over the images. Runs the graph on the cpu backend without any fusion,
/// so that every operand exists; each worker runs one image on one thread, so results do not depend
/// on how many there are. Memory: for each distinct value that is watched, a histogram of 64 KiB a
/// worker and the sums of its channels; for each worker one image's activations; nothing grows with
/// the number of images.
class Observation {
 public:
  /// Throws bad_input for a graph that is not fp32 throughout, and for observers that there are
  /// not; otherwise as backend::lower.
  Observation(std::shared_ptr<const graph::Graph> graph, std::vector<std::string> observers,
              int workers = 1);

  [[nodiscard]] int workers() const { return static_cast<int>(workers_.size()); }

  /// Runs one image, H × W × 3, normalized, on worker 0 … workers() - 1, and counts its numbers.
  /// Different workers may be called at once. The glimpse is to be given to add(). Throws
  /// bad_input naming the layer where an operand is not finite or beyond kLargestMagnitude; nothing
  /// is to be had from the observation after that.
  [[nodiscard]] Glimpse look(int worker, std::span<const float> image);
  /// Takes in what look() saw. In the order of the images, one at a time.
  void add(const Glimpse& glimpse);
  /// Both, on worker 0.
  void observe(std::span<const float> image) { add(look(0, image)); }

  [[nodiscard]] std::uint64_t images() const { return images_; }
  /// One entry an operand, in the order of operands_of(); operands that are one value have equal
  /// ranges. Throws bad_input before the first image.
  [[nodiscard]] std::vector<OperandStats> operands() const;

 private:
  /// A value that operands are.
  struct Watched {
    graph::ValueId value = graph::kNone;
    bool channels = false;
    ValueStats stats;
  };
  struct Worker {
    std::unique_ptr<backend::Session> session;
    std::vector<Histogram> histograms;  ///< one a watched value, or none at all
  };

  void watch_operands();
  void see_constants();
  /// Looks at the numbers of watched value `index`.
  ValueGlimpse see(Worker& worker, std::size_t index, std::span<const float> numbers) const;
  [[noreturn]] void refuse(std::size_t index, std::span<const float> numbers) const;
  [[nodiscard]] std::map<std::string, Range, std::less<>> ranges_of(std::size_t index) const;

  std::shared_ptr<const graph::Graph> graph_;
  std::vector<std::string> observers_;
  std::vector<Operand> operands_;
  std::vector<Watched> watched_;
  std::unordered_map<std::string, std::size_t> by_name_;  ///< of watched values
  Glimpse constants_;  ///< of the watched values that are constants; empty for the others
  std::unique_ptr<backend::Plan> plan_;
  std::vector<Worker> workers_;
  std::uint64_t images_ = 0;
};

}  // namespace assay::quant
