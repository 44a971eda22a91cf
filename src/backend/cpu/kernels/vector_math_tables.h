#pragma once
/// Made by tools/fit-polynomials.py, which says how.
namespace assay::backend::cpu {

/// h with 2^f = 1 + f h(f) for |f| <= 1/2, least relative error of 2^f.
/// Fit error before rounding: 2e-09.
inline constexpr float kExp2[] = {0.693147182F,   0.240226477F,  0.0555033237F,
                                  0.00961843692F, 0.0013398875F, 0.00015353362F};

/// g with e^r = 1 + r + r^2 g(r) for |r| <= ln 2 / 2, least relative error of e^r.
/// Fit error before rounding: 3.1e-09.
inline constexpr float kExp[] = {0.49999994F, 0.166665211F, 0.041668389F, 0.00836871658F,
                                 0.00138145988F};

/// q with log2 Q(t) = -1 + t q(t) for 0 <= t <= 13, Q the normal distribution's upper tail.
/// Fit error before rounding: 3.1e-08.
inline constexpr float kNormalTail[] = {-1.15110576F,     -0.459206402F,    -0.0524847507F,
                                        0.00700902846F,   -4.82758333e-05F, -0.000258137909F,
                                        7.10632885e-05F,  -1.03523626e-05F, 8.76460717e-07F,
                                        -4.01158715e-08F, 7.6288581e-10F};

}  // namespace assay::backend::cpu
