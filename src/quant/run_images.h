#pragma once
/// Running one graph over many images at once: what ablations, sensitivity and search are made of.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"

namespace assay::quant {

/// Images as the network takes them: count × H × W × 3, 8 bits, not normalized. Borrowed.
struct ImageSet {
  std::span<const std::uint8_t> rgb;
  std::size_t count = 0;
  backend::Normalization normalization;
};

struct RunOptions {
  int threads = 0;  ///< 0: available_cores()
  backend::Target target{};
  /// Called after each graph that was run over all images; may throw to stop.
  std::function<void()> tick{};
};

/// The logits of every image, count × classes. Several images are run at once, one a thread, which
/// changes no bit of the results. Throws bad_input where the sizes do not fit; otherwise as
/// backend::lower.
std::vector<float> run_images(std::shared_ptr<const graph::Graph> graph, const ImageSet& images,
                              const RunOptions& options);
std::vector<float> run_images(graph::Graph graph, const ImageSet& images,
                              const RunOptions& options);

/// Length of one image's logits.
std::size_t classes_of(const graph::Graph& graph);

}  // namespace assay::quant
