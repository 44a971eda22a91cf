#pragma once
/// Attention: one block computes 16 query rows of one head. Its warps split the keys, 32 at a time,
/// each with a softmax of its own that is corrected as larger scores appear (arXiv 1805.02867,
/// 2205.14135), and what they have is added up at the end.
#include <limits>
#include <type_traits>

#include "backend/cuda/kernels/attention_rows.cuh"
#include "backend/cuda/kernels/attention_simple.cuh"
#include "backend/cuda/kernels/mma.cuh"

namespace assay::backend::cuda {

/// The output of 16 queries against the keys of one head, by a block. `Operand` is __half or
/// __nv_bfloat16; where `kCodes`, __half holds codes of E4M3, which it does exactly. Heads are at
/// most kHeadSize wide.
template <typename Operand, int kHeadSize, bool kCodes>
class AttentionTile {
 public:
  __device__ AttentionTile(const Attention& a, std::byte* shared, int tile)
      : a_(a),
        place_(attention_place(a, tile)),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32),
        shared_(shared),
        keys_(reinterpret_cast<Operand*>(shared) + warp_ * 2 * kKeys * kPitch),
        values_(keys_ + kKeys * kPitch) {}

  __device__ void run() {
    load_queries();
    const int key_bytes = bytes_at_once<Operand>(a_, a_.k, a_.k_head_stride);
    const int value_bytes = bytes_at_once<Operand>(a_, a_.v, a_.v_head_stride);
    if constexpr (kCodes) find_largest();
#pragma unroll 1
    for (int first = warp_ * kKeys; first < a_.keys; first += kWarps * kKeys) {
      load_rows<Operand, kHeadSize>(a_, a_.k, place_, a_.k_head_stride, a_.k_scale, first,
                                    key_bytes, keys_);
      load_rows<Operand, kHeadSize>(a_, a_.v, place_, a_.v_head_stride, a_.v_scale, first,
                                    value_bytes, values_);
      arrive_at_rows();
      float scores[kStrips][4];
      multiply_keys(first, scores);
      soften(scores);
      multiply_values(scores);
      __syncwarp();  // every lane has read the rows before they are written over
    }
    combine();
  }

 private:
  static constexpr int kKeys = kKeysATime;
  static constexpr int kPitch = attention_pitch(kHeadSize);
  static constexpr int kSteps = kHeadSize / 16;  ///< of depth, of q · kᵀ
  static constexpr int kStrips = kKeys / 8;
  static constexpr int kColumns = kHeadSize / 8;  ///< strips of the output
  static constexpr float kNothing = -std::numeric_limits<float>::infinity();

  __device__ static void arrive_at_rows() {
    commit_copies();
    wait_copies<0>();
    __syncwarp();
  }

  __device__ void load_queries() {
    const int column = lane_ % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = place_.first_query + lane_ / 4 + half * 8;
      const bool there = row < a_.queries;
      const std::int64_t offset =
          attention_offset(a_, a_.q, place_, a_.q_head_stride, a_.queries, there ? row : 0);
      const bool ready = bytes_at_once<Operand>(a_, a_.q, a_.q_head_stride) != 0;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          queries_[step][half + i * 2] = load_pair<Operand>(
              a_, a_.q, offset, step * 16 + column + i * 8, there, ready, a_.q_scale);
        }
      }
    }
  }

  /// scores = q · kᵀ × scale × log2(e); keys that are not there get -infinity.
  __device__ void multiply_keys(int first, float (&scores)[kStrips][4]) {
#pragma unroll
    for (int strip = 0; strip < kStrips; ++strip) {
      for (float& score : scores[strip]) score = 0;
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int strip = 0; strip < kStrips; strip += 2) {
        std::uint32_t b[4];
        const int row = strip * 8 + lane_ % 8 + lane_ / 16 * 8;
        load_matrices(b, shared_address(keys_ + row * kPitch + step * 16 + lane_ / 8 % 2 * 8));
        multiply_add<Operand>(scores[strip], queries_[step], b[0], b[1]);
        multiply_add<Operand>(scores[strip + 1], queries_[step], b[2], b[3]);
      }
    }
    const float scale = score_scale(a_);
#pragma unroll
    for (int strip = 0; strip < kStrips; ++strip) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = first + strip * 8 + lane_ % 4 * 2 + i % 2;
        scores[strip][i] = key < a_.keys ? scores[strip][i] * scale : kNothing;
      }
    }
  }

  /// The largest score of the row that `half` of the lanes' numbers belong to.
  __device__ float largest_of(const float (&scores)[kStrips][4], int half) const {
    float largest = largest_[half];
#pragma unroll
    for (int strip = 0; strip < kStrips; ++strip) {
      largest = fmaxf(largest, fmaxf(scores[strip][half * 2], scores[strip][half * 2 + 1]));
    }
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffU, largest, 1));
    return fmaxf(largest, __shfl_xor_sync(0xffffffffU, largest, 2));
  }

  /// At E4M3 the probabilities are rounded against the row's largest score, which must be known
  /// before: one more pass over the keys.
  __device__ void find_largest() {
    const int bytes = bytes_at_once<Operand>(a_, a_.k, a_.k_head_stride);
    for (int first = warp_ * kKeys; first < a_.keys; first += kWarps * kKeys) {
      load_rows<Operand, kHeadSize>(a_, a_.k, place_, a_.k_head_stride, a_.k_scale, first, bytes,
                                    keys_);
      arrive_at_rows();
      float scores[kStrips][4];
      multiply_keys(first, scores);
      for (int half = 0; half < 2; ++half) largest_[half] = largest_of(scores, half);
      __syncwarp();
    }
    auto* const all = reinterpret_cast<float*>(shared_ + attention_moments(kHeadSize));
    if (lane_ % 4 == 0) {
      for (int half = 0; half < 2; ++half) all[warp_ * 16 + lane_ / 4 + half * 8] = largest_[half];
    }
    __syncthreads();
    for (int half = 0; half < 2; ++half) {
      for (int w = 0; w < kWarps; ++w) {
        largest_[half] = fmaxf(largest_[half], all[w * 16 + lane_ / 4 + half * 8]);
      }
    }
    __syncthreads();
  }

  /// Scores become exp2(score - largest), and what was summed against a smaller one is corrected.
  __device__ void soften(float (&scores)[kStrips][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float largest = largest_of(scores, half);
      const float correction = largest_[half] == kNothing ? 0.0F : exp2f(largest_[half] - largest);
      largest_[half] = largest;
      float sum = 0;
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip) {
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
          scores[strip][i] = exp2f(scores[strip][i] - largest);
          sum += scores[strip][i];
        }
      }
      sums_[half] = sums_[half] * correction + sum;
#pragma unroll
      for (int column = 0; column < kColumns; ++column) {
        outputs_[column][half * 2] *= correction;
        outputs_[column][half * 2 + 1] *= correction;
      }
    }
  }

  __device__ void multiply_values(const float (&scores)[kStrips][4]) {
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      std::uint32_t p[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&strip)[4] = scores[step * 2 + i / 2];
        p[i] = pack_probabilities<Operand>(a_, strip[i % 2 * 2], strip[i % 2 * 2 + 1]);
      }
#pragma unroll
      for (int column = 0; column < kColumns; column += 2) {
        std::uint32_t b[4];
        const int row = step * 16 + lane_ % 8 + lane_ / 8 % 2 * 8;
        load_transposed(b, shared_address(values_ + row * kPitch + column * 8 + lane_ / 16 * 8));
        multiply_add<Operand>(outputs_[column], p, b[0], b[1]);
        multiply_add<Operand>(outputs_[column + 1], p, b[2], b[3]);
      }
    }
  }

  /// Adds up the warps' parts, each weighted by how far its largest score is from the row's.
  __device__ void combine() {
    auto* const moments = reinterpret_cast<float2*>(shared_ + attention_moments(kHeadSize));
    auto* const mine = reinterpret_cast<float*>(keys_);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = sums_[half];
      sum += __shfl_xor_sync(0xffffffffU, sum, 1);
      sum += __shfl_xor_sync(0xffffffffU, sum, 2);
      const int row = lane_ / 4 + half * 8;
      if (lane_ % 4 == 0) moments[row * kWarps + warp_] = make_float2(largest_[half], sum);
#pragma unroll
      for (int column = 0; column < kColumns; ++column) {
        *reinterpret_cast<float2*>(mine + row * kHeadSize + column * 8 + lane_ % 4 * 2) =
            make_float2(outputs_[column][half * 2], outputs_[column][half * 2 + 1]);
      }
    }
    __syncthreads();
    // A half-warp has a row: its first eight lanes find what each warp's part is worth.
    const int row = static_cast<int>(threadIdx.x) / 16;
    const int lane = static_cast<int>(threadIdx.x) % 16;
    float2 part = make_float2(kNothing, 0);
    if (lane < kWarps) part = moments[row * kWarps + lane];
    float largest = part.x;
#pragma unroll
    for (int i = 4; i > 0; i /= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffU, largest, i, 8));
    }
    largest = __shfl_sync(0xffffffffU, largest, 0, 16);
    const float weight = part.x == kNothing ? 0.0F : exp2f(part.x - largest);
    float total = weight * part.y;
#pragma unroll
    for (int i = 8; i > 0; i /= 2) total += __shfl_xor_sync(0xffffffffU, total, i, 16);
    write_row(row, lane, weight, output_scale(a_) / total);
  }

  /// Four columns a lane and round, of the row that 16 lanes share; lane w has warp w's weight.
  __device__ void write_row(int row, int lane, float weight, float scale) const {
    const bool there = place_.first_query + row < a_.queries;
    const std::int64_t out = attention_offset(a_, a_.out, place_, a_.out_head_stride, a_.queries,
                                              there ? place_.first_query + row : 0);
#pragma unroll
    for (int column = lane * 4; column < kHeadSize; column += 64) {
      float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const float share = __shfl_sync(0xffffffffU, weight, w, 16);
        if (share == 0.0F) continue;  // a warp that had no keys has written nothing
        const float4 theirs = *reinterpret_cast<const float4*>(
            reinterpret_cast<const float*>(reinterpret_cast<const Operand*>(shared_) +
                                           w * 2 * kKeys * kPitch) +
            row * kHeadSize + column);
        sum.x = fmaf(share, theirs.x, sum.x);
        sum.y = fmaf(share, theirs.y, sum.y);
        sum.z = fmaf(share, theirs.z, sum.z);
        sum.w = fmaf(share, theirs.w, sum.w);
      }
      if (!there) continue;
      const float numbers[4] = {sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale};
      if (column + 4 <= a_.head_size && a_.out.store == Store::f16 &&
          is_aligned(address_of(a_.out, out + column), 8)) {
        store_as<Store::f16>(a_.out, out + column, numbers);
        continue;
      }
      for (int i = 0; i < 4; ++i) {
        if (column + i < a_.head_size) store1(a_.out, out + column + i, numbers[i]);
      }
    }
  }

  const Attention& a_;
  AttentionPlace place_;
  int warp_;
  int lane_;
  std::byte* shared_;
  Operand* keys_;
  Operand* values_;
  std::uint32_t queries_[kSteps][4];
  float largest_[2] = {kNothing, kNothing};
  float sums_[2] = {};
  float outputs_[kColumns][4] = {};
};

template <typename Operand, int kHeadSize, bool kCodes>
__device__ void run_attention(const Attention& a, const Call& call, Worker worker, Gate& gate,
                              std::byte* shared) {
  const int count = tiles(a, call.batch);
  if (worker.index >= count) return;
  gate.open();
#pragma unroll 1
  for (int tile = worker.index; tile < count; tile += worker.count) {
    if (tile != worker.index) __syncthreads();  // the tile before has left shared memory
    AttentionTile<Operand, kHeadSize, kCodes>(a, shared, tile).run();
  }
}

/// Calls `use` with the types of a kernel, as std::integral_constants and a number of the operand's
/// type: the one place that says which there are.
template <typename Use>
constexpr auto with_attention_kind(const Attention& a, const Use& use) {
  const auto sized = [&](auto operand, auto codes) {
    switch (attention_head_size(a)) {
      case 32:
        return use(operand, std::integral_constant<int, 32>{}, codes);
      case 64:
        return use(operand, std::integral_constant<int, 64>{}, codes);
      default:
        return use(operand, std::integral_constant<int, 128>{}, codes);
    }
  };
  if (a.operand == Store::bf16)
    return sized(std::type_identity<__nv_bfloat16>{}, std::false_type{});
  if (a.operand == Store::e4m3) return sized(std::type_identity<__half>{}, std::true_type{});
  return sized(std::type_identity<__half>{}, std::false_type{});
}

}  // namespace assay::backend::cuda
