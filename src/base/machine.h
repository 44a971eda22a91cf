#pragma once
#include <string>

namespace assay {

/// The processor's own name ("model name" of /proc/cpuinfo, or its "Model" and number where the
/// name is hidden); "unknown" where the system says neither. What is tuned on one processor is kept
/// under it. Thread-safe.
std::string cpu_model();

}  // namespace assay
