#pragma once
/// A few held-out images' logits as they were, by which a rerun of a minute tells whether a study
/// holds.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay::study {

/// Images that are kept of each model.
inline constexpr std::uint64_t kSampleImages = 100;

/// Of one model: logits by variant, positions × classes.
struct ModelSamples {
  std::vector<std::uint64_t> positions;
  std::map<std::string, std::vector<float>> logits;
};
using Samples = std::map<std::string, ModelSamples>;

/// samples.json: every number with the digits that tell it from its neighbours in fp32.
void write_samples(const Samples& samples, const std::filesystem::path& path);

/// Throws not_found, and bad_input for a file that is not so.
Samples read_samples(const std::filesystem::path& path);

}  // namespace assay::study
