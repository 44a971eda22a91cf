#pragma once
/// What the dataset tests share.
#include "pipeline/dataset.h"
#include "pipeline/files.h"

namespace assay::test {

inline const pipeline::DatasetOptions kUnlabelled{{}, false};

inline const std::vector<std::string>& colours() {
  static const std::vector<std::string> names = {"red", "green", "blue"};
  return names;
}

inline std::vector<pipeline::Sample> all_samples(pipeline::Dataset& dataset) {
  std::vector<pipeline::Sample> samples;
  while (auto sample = dataset.next()) samples.push_back(std::move(*sample));
  return samples;
}

inline std::vector<pipeline::Sample> samples_of(const std::filesystem::path& path,
                                                const pipeline::DatasetOptions& options = {}) {
  return all_samples(*pipeline::open_dataset(path.string(), colours(), options));
}

inline std::vector<int> labels_of(const std::vector<pipeline::Sample>& samples) {
  std::vector<int> labels;
  for (const auto& sample : samples) labels.push_back(sample.label.value_or(-1));
  return labels;
}

inline std::vector<std::string> names_of(const std::vector<pipeline::Sample>& samples) {
  std::vector<std::string> names;
  for (const auto& sample : samples) names.push_back(sample.name);
  return names;
}

/// What opening and reading all of `path` ends with.
inline Outcome dataset_outcome(const std::filesystem::path& path,
                               const pipeline::DatasetOptions& options = {}) {
  return outcome_of([&] { (void)samples_of(path, options); });
}

}  // namespace assay::test
