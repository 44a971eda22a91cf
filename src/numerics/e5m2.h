#pragma once
/// FP8 E5M2 of the OCP 8-bit Floating Point Specification, revision 1.0: largest number 57,344,
/// with infinity and NaN. Encoding does not saturate: what is too large becomes infinity.
#include "numerics/minifloat.h"

namespace assay::numerics {

using E5m2 = Minifloat<std::uint8_t, 5, 2, Specials::ieee>;

}  // namespace assay::numerics
