#pragma once
/// How long variants take, at three boundaries and several batch sizes, side by side in one run.
#include <span>
#include <vector>

#include "study/build.h"
#include "study/images.h"
#include "study/schema.h"

namespace assay::study {

/// Where each boundary's time starts and stops, and how it is taken: for the record.
Measuring measuring(const SpeedSpec& spec);

/// Fills `speed` of every variant whose speed_reason is empty. At each batch size all of them, at
/// every boundary, run once a round; another one begins each round. A ratio to fp32 is the median
/// of the rounds' ratios, with its interval. `variants` and `builds` are in the same order; the
/// first is fp32. A variant that does not answer with the same finite numbers each time gets the
/// reason instead. `tick` is called after each round.
void measure_speed(std::span<const VariantBuild> builds, const DataSource& source,
                   std::span<const std::uint64_t> positions, const SpeedSpec& spec, int threads,
                   std::span<Variant> variants, const std::function<void()>& tick);

/// Rounds that measure_speed() runs.
std::uint64_t speed_rounds(const SpeedSpec& spec);

/// fp32's samples over the others', round by round: the median and its interval.
Estimate ratio_of(std::span<const double> fp32, std::span<const double> other);

}  // namespace assay::study
