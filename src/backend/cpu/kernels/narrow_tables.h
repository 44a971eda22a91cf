#pragma once
/// Made by tools/fit-narrow-polynomials.py, which says how.
namespace assay::backend::cpu {

/// 2^f for 0 <= f <= 1, least relative error.
/// Fit error before rounding: 7.5e-05.
inline constexpr float kPowerAbove[] = {0.999925196F, 0.695833564F, 0.226067156F, 0.0780245215F};

/// 2^f for -0.5 <= f <= 0.5, least relative error.
/// Fit error before rounding: 7.5e-05.
inline constexpr float kPowerAround[] = {0.999928057F, 0.693260968F, 0.242611125F, 0.0551716685F};

/// log2 Q(t) for 0 <= t, Q the normal distribution's upper tail; falls for all t.
/// Fit error before rounding: 2.4e-05.
inline constexpr float kShortTail[] = {-1.00003421F,   -1.15046144F,   -0.461120397F,
                                       -0.0506478809F, 0.00660709525F, -0.000407817512F};

}  // namespace assay::backend::cpu
