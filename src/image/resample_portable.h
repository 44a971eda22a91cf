#pragma once
/// The kernels of resample_kernels.h in plain C++: for processors without AVX2 or SSE4, for rows
/// too short for a vector, and as what the others are tested against.
#include "image/resample_kernels.h"

namespace assay::image::portable {

void filter_along_rows(const RowWeights& weights, const std::uint8_t* const* in,
                       std::uint8_t* const* out);
void filter_across_rows(const std::int32_t* packed, std::size_t pairs,
                        const std::uint8_t* const* in, std::size_t bytes, std::uint8_t* out);

}  // namespace assay::image::portable
