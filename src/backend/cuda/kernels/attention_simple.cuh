#pragma once
/// Attention in fp32 without tensor cores: a warp computes one query at a time.
#include "backend/cuda/kernels/attention_rows.cuh"
#include "backend/cuda/kernels/source.cuh"

namespace assay::backend::cuda {

/// A number of an operand; at e4m3 rounded as the products would take it.
__device__ inline float operand_number(const Attention& a, const View& view, std::int64_t offset,
                                       float scale) {
  const float x = load1(view, offset);
  if (a.operand == Store::e4m3)
    return scale * static_cast<float>(__nv_fp8_e4m3(x * (1.0F / scale)));
  if (a.operand == Store::f16) return __half2float(__float2half_rn(x));
  return a.operand == Store::bf16 ? __bfloat162float(__float2bfloat16_rn(x)) : x;
}

__device__ inline float warp_largest(float x) {
  for (int lane = 16; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffU, x, lane));
  return x;
}

/// scores[key] = q · k × scale of all keys; returns the largest.
__device__ inline float score_keys(const Attention& a, const AttentionPlace& place, int query,
                                   float* scores) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t q = attention_offset(a, a.q, place, a.q_head_stride, a.queries, query);
  float largest = -INFINITY;
  for (int key = lane; key < a.keys; key += 32) {
    const std::int64_t k = attention_offset(a, a.k, place, a.k_head_stride, a.keys, key);
    float sum = 0;
    for (int i = 0; i < a.head_size; ++i) {
      sum = fmaf(operand_number(a, a.q, q + i, a.q_scale), operand_number(a, a.k, k + i, a.k_scale),
                 sum);
    }
    scores[key] = sum * a.scale;
    largest = fmaxf(largest, scores[key]);
  }
  return warp_largest(largest);
}

__device__ inline void simple_query(const Attention& a, const AttentionPlace& place, int query,
                                    float* scores) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float largest = score_keys(a, place, query, scores);
  float sum = 0;
  for (int key = lane; key < a.keys; key += 32) {
    const float p = expf(scores[key] - largest);
    sum += p;
    const float code =
        a.operand == Store::e4m3 ? static_cast<float>(__nv_fp8_e4m3(p * 448.0F)) / 448.0F : p;
    scores[key] = a.operand == Store::f16    ? __half2float(__float2half_rn(p))
                  : a.operand == Store::bf16 ? __bfloat162float(__float2bfloat16_rn(p))
                                             : code;
  }
  sum = warp_sum(sum);
  __syncwarp();
  const std::int64_t out = attention_offset(a, a.out, place, a.out_head_stride, a.queries, query);
  for (int i = lane; i < a.head_size; i += 32) {
    float total = 0;
    for (int key = 0; key < a.keys; ++key) {
      const std::int64_t v = attention_offset(a, a.v, place, a.v_head_stride, a.keys, key);
      total = fmaf(scores[key], operand_number(a, a.v, v + i, a.v_scale), total);
    }
    store1(a.out, out + i, total / sum);
  }
  __syncwarp();
}

__device__ inline void run_simple(const Attention& a, const Call& call, Worker worker, Gate& gate,
                                  std::byte* shared) {
  const int count = tiles(a, call.batch);
  if (worker.index >= count) return;
  gate.open();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  float* const scores = reinterpret_cast<float*>(shared) + warp * a.keys;
  for (int tile = worker.index; tile < count; tile += worker.count) {
    const AttentionPlace place = attention_place(a, tile);
    for (int row = warp; row < kQueriesATile; row += kWarps) {
      const int query = place.first_query + row;
      if (query < a.queries) simple_query(a, place, query, scores);
    }
  }
}

}  // namespace assay::backend::cuda
