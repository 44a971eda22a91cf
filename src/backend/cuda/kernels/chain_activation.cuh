#pragma once
/// Activations in few instructions, exact far beyond the f16 that their results are rounded to.

namespace assay::backend::cuda {

/// 2 to the x by the special function unit, which rounds in the last place or two.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// x / (1 + exp(-x)). Where exp overflows the quotient is 0, as it should be.
__device__ inline float quick_silu(float x) {
  return __fdividef(x, 1.0F + power_of_two(-1.44269504F * x));
}

/// x Φ(x) = x (1 + erf(x / √2)) / 2, erf to 1.5e-7 by Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 7.1.26.
__device__ inline float quick_gelu(float x) {
  const float z = fabsf(x) * 0.70710678F;
  const float t = __fdividef(1.0F, fmaf(0.3275911F, z, 1.0F));
  float p = fmaf(1.061405429F, t, -1.453152027F);
  p = fmaf(p, t, 1.421413741F);
  p = fmaf(p, t, -0.284496736F);
  p = fmaf(p, t, 0.254829592F);
  // 1 - erf(z), halved: what Φ lacks to 1 on the right, and all that it is on the left.
  const float tail = 0.5F * p * t * power_of_two(-1.44269504F * z * z);
  return x > 0 ? x - x * tail : x * tail;
}

}  // namespace assay::backend::cuda
