#pragma once
/// FP4 E2M1 of the OCP Microscaling Formats (MX) Specification, revision 1.0: 0, 0.5, 1, 1.5, 2, 3,
/// 4, 6 and their negatives. No infinity, no NaN: encoding saturates, and NaN becomes 6.
#include "numerics/minifloat.h"

namespace assay::numerics {

using E2m1 = Minifloat<std::uint8_t, 2, 1, Specials::none>;

}  // namespace assay::numerics
