#pragma once
/// The tables that tests/golden/make_model_goldens.py writes, and weights made from them.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace assay::families {

/// "crossvit" or "mobilevit" → the architecture's cells by the row's name, empty ones left out.
std::map<std::string, std::string> golden_column(const std::string& table,
                                                 const std::string& architecture);

/// Every tensor of the architecture, all zero: for tests of names and shapes.
checkpoint::Weights zero_weights(const std::string& architecture);

checkpoint::ModelConfig config_of(const std::string& architecture, int classes = 1000);

std::filesystem::path source_dir();

}  // namespace assay::families
