#pragma once
/// What `assay tune` and `assay build --tune` share.
#include <string>

#include "bundle/bundle.h"

namespace assay::cli {

/// Tunes on this machine, with a progress bar. `threads` 0: all cores.
backend::Tuned tune(bundle::Bundle& bundle, int threads, int runs);

/// What was just tuned, in a line.
std::string tuning_text(const bundle::Bundle& bundle, const backend::Tuned& tuned);

}  // namespace assay::cli
