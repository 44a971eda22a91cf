#pragma once
#include <string>

namespace assay {

/// The processor's own name with its family and model ("model name", "cpu family" and "model" of
/// /proc/cpuinfo; the name alone where the others are missing); "unknown" where there is no name.
/// What is tuned on one processor is kept under it. Thread-safe.
std::string cpu_model();

/// "gcc 12.2.0", as the program was compiled.
std::string compiler();

}  // namespace assay
