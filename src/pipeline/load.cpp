// From a bundle to a Classifier.
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/thread_pool.h"
#include "pipeline/classifier.h"

namespace assay {
namespace {

void check(const LoadOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads)
    fail(ErrorKind::bad_input, "threads {}: expected 0 (all cores) ... {}", options.threads,
         kMaxThreads);
  if (options.max_batch < 0 || options.max_batch > bundle::kMaxBatch)
    fail(ErrorKind::bad_input, "max batch {}: expected 0 (the bundle's) ... {}", options.max_batch,
         bundle::kMaxBatch);
}

backend::LowerOptions lower_options(const bundle::Bundle& bundle, const LoadOptions& options) {
  backend::LowerOptions lowering =
      bundle::lower_options(bundle, backend::parse_target(options.backend), options.threads);
  if (options.max_batch > 0) lowering.max_batch = options.max_batch;
  return lowering;
}

/// A file may ask for activations that no machine has; the first call would find out the hard way.
void check_memory(const backend::Plan& plan, int max_batch) {
  const auto pages = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const std::uint64_t memory = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (memory != 0 && plan.arena_bytes() > memory)
    fail(ErrorKind::out_of_memory,
         "a session at batch {} needs {} MiB of activations, the machine has {} MiB: {}", max_batch,
         plan.arena_bytes() >> 20, memory >> 20,
         max_batch > 1 ? "load with a smaller batch" : "the bundle does not fit this machine");
}

/// Concurrent calls that make sense: as many as the cores can serve at so many threads each, and
/// one more where a call takes them all, so that the next starts while the last ends.
int session_bound(const LoadOptions& options) {
  const int cores = available_cores();
  return std::max(2, cores / (options.threads > 0 ? options.threads : cores));
}

ModelInfo describe(const bundle::Bundle& bundle, const backend::Plan& plan, int max_batch) {
  ModelInfo info;
  info.architecture = bundle.provenance.architecture;
  info.precision = bundle.precision;
  info.plan = plan.description();
  info.input_height = bundle.transform.input_height;
  info.input_width = bundle.transform.input_width;
  info.classes = static_cast<int>(bundle.labels.size());
  for (const graph::Output& output : bundle.graph->outputs)
    if (output.name == "features")
      info.features = static_cast<int>(bundle.graph->value(output.value).dims[0]);
  info.max_batch = max_batch;
  return info;
}

}  // namespace

Classifier::State::State(bundle::Bundle loaded, std::unique_ptr<backend::Plan> lowered,
                         const LoadOptions& options)
    : bundle(std::move(loaded)),
      plan(std::move(lowered)),
      decode{.apply_exif_rotation = options.exif_rotate, .transform = bundle.transform},
      info(describe(bundle, *plan, lower_options(bundle, options).max_batch)),
      sessions(*plan, session_bound(options)) {}

Classifier pipeline::make_classifier(bundle::Bundle bundle, const LoadOptions& options) {
  check(options);
  const backend::LowerOptions lowering = lower_options(bundle, options);
  auto plan = backend::lower(bundle.graph, backend::parse_target(options.backend), lowering);
  check_memory(*plan, lowering.max_batch);
  return Classifier(
      std::make_shared<Classifier::State>(std::move(bundle), std::move(plan), options));
}

Classifier load(const std::filesystem::path& bundle, const LoadOptions& options) {
  check(options);
  return pipeline::make_classifier(bundle::read(bundle), options);
}

}  // namespace assay
