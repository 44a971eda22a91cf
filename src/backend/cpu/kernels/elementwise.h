#pragma once
/// Kernels that work number by number. All are single-threaded over what they are given, so a step
/// calls each with its worker's share; all are dispatched to the machine's best instruction set.
/// Lengths may be any, 0 included. `y`/`out` may be the same pointer as an input of the same shape;
/// any other overlap is the caller's error. NaN and infinities propagate as IEEE arithmetic does.
#include <cstdint>

#include "graph/graph.h"

namespace assay::backend::cpu {

/// y[i] = activation(x[i]); GELU and SiLU as vector_math-inl.h defines them, none copies.
void activate(graph::Activation activation, const float* x, float* y, std::int64_t count);

/// out[i] = x[i] + y[i].
void add(const float* x, const float* y, float* out, std::int64_t count);
/// out[i] = x[i] * y[i].
void mul(const float* x, const float* y, float* out, std::int64_t count);

/// out[r][i] = x[r][i] + suffix[i]: `rows` rows of `width` numbers, dense. Width 1 is a scalar.
void add_suffix(const float* x, const float* suffix, float* out, std::int64_t rows,
                std::int64_t width);
/// out[r][i] = x[r][i] * suffix[i].
void mul_suffix(const float* x, const float* suffix, float* out, std::int64_t rows,
                std::int64_t width);

/// y[r][c] = x[r][c] * scale[c] + shift[c], fused where the machine has FMA. For inference
/// scale = weight / sqrt(var + epsilon) and shift = bias - mean * scale.
void batch_norm(const float* x, float* y, std::int64_t rows, std::int64_t channels,
                const float* scale, const float* shift);

}  // namespace assay::backend::cpu
