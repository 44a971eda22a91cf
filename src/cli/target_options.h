#pragma once
/// --backend, --threads and --batch, which run, eval, inspect and bench share.
#include <string>

#include "assay/assay.h"
#include "backend/backend.h"

namespace assay::cli {

class Verb;

struct TargetOptions {
  std::string backend = "cpu";
  int threads = 0;  ///< 0: not given; all the cores that the process may use
  int batch = 1;
};

/// Adds the three options with their bounds. Wrong usage: an unknown backend, and --threads for one
/// that does not take it.
void add_target_options(Verb& verb, TargetOptions& options);
/// Adds --backend and --threads alone, for verbs that run one image at a time.
void add_backend_options(Verb& verb, TargetOptions& options);

/// The backend that was named, and all three as the public API takes them: the largest batch is
/// --batch.
backend::Target target_of(const TargetOptions& options);
LoadOptions load_options(const TargetOptions& options, bool exif_rotate = false);

}  // namespace assay::cli
