#include "quant/run_images.h"

#include <algorithm>

#include "base/error.h"
#include "base/thread_pool.h"

namespace assay::quant {
namespace {

/// Images a call for each thread: enough that a call's end, where threads wait, costs little.
constexpr std::size_t kImagesEach = 16;

}  // namespace

std::size_t classes_of(const graph::Graph& graph) {
  return static_cast<std::size_t>(graph::elements(graph.value(graph.output("logits")).dims));
}

std::vector<float> run_images(std::shared_ptr<const graph::Graph> graph, const ImageSet& images,
                              const RunOptions& options) {
  const auto each = static_cast<std::size_t>(graph::elements(graph->value(graph->input).dims));
  if (images.count == 0 || images.rgb.size() != images.count * each)
    fail(ErrorKind::bad_input, "{} images of {} numbers each were given as {} bytes", images.count,
         each, images.rgb.size());
  backend::LowerOptions lower;
  lower.threads = options.threads;
  lower.normalization = images.normalization;
  const int threads = options.threads > 0 ? options.threads : available_cores();
  const std::size_t batch = std::min(images.count, kImagesEach * static_cast<std::size_t>(threads));
  lower.max_batch = static_cast<int>(batch);
  const std::size_t classes = classes_of(*graph);
  const auto plan = backend::lower(std::move(graph), options.target, lower);
  const auto session = plan->make_session();
  std::vector<float> logits(images.count * classes);
  for (std::size_t first = 0; first < images.count; first += batch) {
    const std::size_t count = std::min(batch, images.count - first);
    session->run({images.rgb.subspan(first * each, count * each), {}}, static_cast<int>(count),
                 {std::span(logits).subspan(first * classes, count * classes), {}});
  }
  if (options.tick) options.tick();
  return logits;
}

std::vector<float> run_images(graph::Graph graph, const ImageSet& images,
                              const RunOptions& options) {
  return run_images(std::make_shared<const graph::Graph>(std::move(graph)), images, options);
}

}  // namespace assay::quant
