#pragma once
#include <cstdint>

namespace assay::backend::cpu {

/// out = softmax(scale · q kᵀ) v, head by head, for `batch` independent groups of tokens (images,
/// or images × MobileViT's patch positions). Token t of group b begins at
/// pointer + b * batch_stride + t * stride, head h at h * head_dim from there, so that the three of
/// one fused qkv projection can be passed in place. Strides are in floats.
struct AttentionArgs {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* out = nullptr;
  std::int64_t q_stride = 0;
  std::int64_t k_stride = 0;
  std::int64_t v_stride = 0;
  std::int64_t out_stride = 0;
  std::int64_t q_batch_stride = 0;
  std::int64_t k_batch_stride = 0;
  std::int64_t v_batch_stride = 0;
  std::int64_t out_batch_stride = 0;
  std::int64_t batch = 1;
  std::int64_t queries = 0;
  std::int64_t keys = 0;  ///< at least 1
  int heads = 1;
  int head_dim = 0;
  float scale = 1.0F;
};

/// The items of work that attention() is split into: (group, head, block of queries), queries
/// innermost. It depends on the instruction set in use, so ask at run or after it is chosen.
std::int64_t attention_items(const AttentionArgs& args);

/// Floats of scratch that each concurrent caller of attention() needs. Any alignment works; 64
/// bytes is fastest.
std::int64_t attention_scratch_floats(const AttentionArgs& args);

/// Computes items [item_begin, item_end); a contiguous share of them is best, since keys and values
/// are packed once for each head in it. Single-threaded; out must overlap nothing. Each number is
/// the same however the items are split. Scores and softmax are fp32 with the maximum subtracted.
void attention(const AttentionArgs& args, std::int64_t item_begin, std::int64_t item_end,
               float* scratch);

}  // namespace assay::backend::cpu
