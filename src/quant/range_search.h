#pragma once
/// The observers that find a range in a histogram. `seen` is the smallest and the largest number of
/// all that the histogram counts, of which there is at least one.
#include "quant/calibration.h"
#include "quant/histogram.h"

namespace assay::quant {

/// Two-sided: from the quantile (1 - share) / 2 to the quantile (1 + share) / 2. Numbers are taken
/// to lie evenly within their bin, so each end is right to one bin's width.
Range percentile_range(const Histogram& histogram, Range seen, double share);

/// Entropy calibration: S. Migacz, "8-bit Inference with TensorRT", GTC 2017. Of the thresholds
/// t = i / 256 × (largest magnitude), i = 256 down to 16, the one where the numbers, clipped to
/// [-t, t], lose least by being rounded to `format`: where KL(P || Q) is smallest, the largest at a
/// tie. P is the histogram with what lies outside the threshold counted in the outermost bin; Q
/// has, of what lies inside, each code's share spread evenly over those of its bins that P has.
/// Returns `seen` clipped to [-t, t].
Range entropy_range(const Histogram& histogram, Range seen, Format format);

/// Of the ranges f × seen, f = i / 128, i = 128 down to 8, the one with the smallest mean squared
/// error of rounding every bin's center to the format, clipping included; the largest at a tie.
Range mse_range(const Histogram& histogram, Range seen, Format format);

}  // namespace assay::quant
