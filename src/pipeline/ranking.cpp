#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "pipeline/classifier.h"

namespace assay::pipeline {

void softmax(std::span<const float> logits, std::span<float> probabilities) {
  if (logits.empty()) return;
  const float highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - highest);
  for (std::size_t i = 0; i < logits.size(); ++i)
    probabilities[i] = static_cast<float>(std::exp(static_cast<double>(logits[i]) - highest) / sum);
}

std::vector<int> top_k(std::span<const float> logits, int k) {
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int index) {
    const float logit = logits[static_cast<std::size_t>(index)];
    return std::pair(!std::isnan(logit), std::isnan(logit) ? 0.0F : logit);
  };
  const auto better = [&](int a, int b) {
    const auto [a_key, b_key] = std::pair(key(a), key(b));
    return a_key != b_key ? a_key > b_key : a < b;
  };
  const auto count =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::max(k, 0)), 0, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), better);
  order.resize(count);
  return order;
}

}  // namespace assay::pipeline
