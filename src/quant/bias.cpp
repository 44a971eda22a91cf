#include "quant/bias.h"

namespace assay::quant {

std::vector<float> bias_shift(std::span<const float> exact, std::span<const float> rounded,
                              const graph::Dims& dims, std::span<const float> mean) {
  const auto channels = static_cast<std::size_t>(dims[0]);
  const std::size_t each = exact.size() / channels;
  const std::size_t places = each / mean.size();  // of a kernel, innermost
  std::vector<float> shift(channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    double sum = 0;
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t at = channel * each + i;
      sum += (static_cast<double>(exact[at]) - rounded[at]) * mean[i / places];
    }
    shift[channel] = static_cast<float>(sum);
  }
  return shift;
}

}  // namespace assay::quant
