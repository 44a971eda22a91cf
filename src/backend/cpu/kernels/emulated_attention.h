#pragma once
/// Attention with E4M3 operands, emulated: exact rounding, fp32 sums, little haste.
#include <array>
#include <cstdint>

#include "backend/cpu/kernels/attention.h"

namespace assay::backend::cpu {

/// The items of work: (group, head).
std::int64_t emulated_attention_items(const AttentionArgs& args);

/// Floats of scratch that each concurrent caller needs.
std::int64_t emulated_attention_scratch_floats(const AttentionArgs& args);

/// As attention(), of q, k and v rounded to E4M3 with `scales`, and with the exponentials rounded
/// as graph::Precision says of fp8. Items [item_begin, item_end); single-threaded.
void emulated_attention(const AttentionArgs& args, const std::array<float, 3>& scales,
                        std::int64_t item_begin, std::int64_t item_end, float* scratch);

}  // namespace assay::backend::cpu
