#pragma once
/// What is inside a Classifier, for the rooms above that measure or show it.
#include <memory>
#include <span>
#include <vector>

#include "assay/assay.h"
#include "backend/backend.h"
#include "bundle/bundle.h"
#include "pipeline/session_pool.h"

namespace assay {

struct Classifier::State {
  State(bundle::Bundle loaded, std::unique_ptr<backend::Plan> lowered, const LoadOptions& options);

  const bundle::Bundle bundle;
  const std::unique_ptr<backend::Plan> plan;
  const image::DecodeOptions decode;
  ModelInfo info;
  pipeline::SessionPool sessions;
};

namespace pipeline {

/// Lowers `bundle` for options.backend. load() is read() and then this. Throws as load().
Classifier make_classifier(bundle::Bundle bundle, const LoadOptions& options);

/// Probabilities of `logits`, which they may alias: exp(x - max) / sum, summed in double.
void softmax(std::span<const float> logits, std::span<float> probabilities);

/// Indices of the `k` largest of `logits` (fewer where there are not as many), best first; of equal
/// ones the lower index first, NaN behind every number.
std::vector<int> top_k(std::span<const float> logits, int k);

}  // namespace pipeline
}  // namespace assay
