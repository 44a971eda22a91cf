#pragma once
/// The header's list of tunings, from values and back.
#include <span>
#include <vector>

#include "base/json.h"
#include "bundle/bundle.h"

namespace assay::bundle {

Json encode_tunings(std::span<const Tuning> tunings);

/// Throws corrupt. Whether the graph has such steps and tactics shows when it is lowered.
std::vector<Tuning> decode_tunings(const Json& list);

}  // namespace assay::bundle
