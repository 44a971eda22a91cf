#pragma once
/// FP8 E4M3 of the OCP 8-bit Floating Point Specification, revision 1.0: largest number 448, no
/// infinity, one NaN a sign. Encoding saturates, infinity included.
#include "numerics/minifloat.h"

namespace assay::numerics {

using E4m3 = Minifloat<std::uint8_t, 4, 3, Specials::nan_only>;

}  // namespace assay::numerics
