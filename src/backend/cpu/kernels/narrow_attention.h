#pragma once
/// Attention with bf16 operands: queries, keys, values and probabilities are rounded to nearest
/// even, sums, scores and softmax are fp32. Both products are narrow ones, so they run on whatever
/// the machine has for them.
#include <cstdint>

#include "backend/cpu/kernels/attention.h"

namespace assay::backend::cpu {

/// The items of work: (group, head), heads innermost.
std::int64_t narrow_attention_items(const AttentionArgs& args);

/// Floats of scratch that each concurrent caller needs, 64-byte aligned.
std::int64_t narrow_attention_scratch_floats(const AttentionArgs& args);

/// Computes items [item_begin, item_end) of what attention() computes. Single-threaded; out must
/// overlap nothing. Each number is the same however the items are split.
void narrow_attention(const AttentionArgs& args, std::int64_t item_begin, std::int64_t item_end,
                      float* scratch);

}  // namespace assay::backend::cpu
