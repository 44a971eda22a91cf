#pragma once
/// fp16: IEEE 754 binary16. Largest number 65,504; has subnormals, infinity and NaN.
#include "numerics/minifloat.h"

namespace assay::numerics {

using Fp16 = Minifloat<std::uint16_t, 5, 10, Specials::ieee>;

}  // namespace assay::numerics
