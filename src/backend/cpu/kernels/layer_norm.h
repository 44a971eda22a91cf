#pragma once
#include <cstdint>

namespace assay::backend::cpu {

/// y = (x - mean) / sqrt(var + epsilon) * gamma + beta over each of `rows` dense rows of `channels`
/// numbers (Ba, Kiros and Hinton 2016). Mean and biased variance in fp32, the variance from the
/// centred numbers (two passes, so a large mean costs no accuracy). Single-threaded; y may be x.
void layer_norm(const float* x, float* y, std::int64_t rows, std::int64_t channels,
                const float* gamma, const float* beta, float epsilon);

}  // namespace assay::backend::cpu
