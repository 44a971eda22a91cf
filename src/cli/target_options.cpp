#include "cli/target_options.h"

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "bundle/bundle.h"
#include "cli/cli.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

/// No option is accepted and ignored.
void check(const TargetOptions& options) {
  backend::Target target;
  try {
    target = backend::parse_target(options.backend);
  } catch (const Error& error) {
    throw UsageError(fmt::format("--backend: {}", error.what()));
  }
  if (options.threads > 0 && target.backend != "cpu") {
    throw UsageError(
        fmt::format("--threads is for the cpu backend; {} does not take it: leave --threads out",
                    target.backend));
  }
}

}  // namespace

void add_backend_options(Verb& verb, TargetOptions& options) {
  verb.option(options.backend, "--backend", "cpu|cuda[:N]|reference", "What runs the network");
  verb.number(options.threads, "--threads", {1, kMaxThreads},
              "Threads a call uses (default: every core this process may use)");
  verb.check([&options] { check(options); });
}

void add_target_options(Verb& verb, TargetOptions& options) {
  add_backend_options(verb, options);
  verb.number(options.batch, "--batch", {1, bundle::kMaxBatch}, "Images a call");
}

backend::Target target_of(const TargetOptions& options) {
  return backend::parse_target(options.backend);
}

LoadOptions load_options(const TargetOptions& options, bool exif_rotate) {
  return {.backend = options.backend,
          .threads = options.threads,
          .max_batch = options.batch,
          .exif_rotate = exif_rotate};
}

}  // namespace assay::cli
