#pragma once
#include <string>

#include "study/schema.h"

namespace assay::study {

/// What a study runs on: the processor, never the machine's name. Reads /proc and /etc/os-release;
/// what is not there is "unknown", or 0.
Machine machine_facts(int threads);

/// Today, as "2026-11-30".
std::string today();

}  // namespace assay::study
