#pragma once
/// The points at which Winograd's polynomials are evaluated: 0, infinity, and these and their
/// negatives. One pair at M = 2, two pairs at M = 4.
namespace assay::backend::cpu {

inline constexpr double kWinogradPoint = 1.0;
// Of the pairs tried (1 and 2, 1/2 and 3/2, 1/sqrt 2 and sqrt 2, 2/3 and 4/3, ...) these have the
// least mean error in fp32, half that of 1 and 2; and they and their squares are exact in fp32.
inline constexpr double kWinogradPoints[2] = {0.625, 1.5};

}  // namespace assay::backend::cpu
