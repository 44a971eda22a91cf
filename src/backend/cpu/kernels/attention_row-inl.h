/// Attention of a single query: two matrix-vector products, for which a block of queries would
/// leave most lanes empty. Vectors run along the head. For use inside HWY_NAMESPACE.
#if defined(ASSAY_BACKEND_CPU_KERNELS_ATTENTION_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_KERNELS_ATTENTION_ROW_INL_H_
#undef ASSAY_BACKEND_CPU_KERNELS_ATTENTION_ROW_INL_H_
#else
#define ASSAY_BACKEND_CPU_KERNELS_ATTENTION_ROW_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "backend/cpu/kernels/partial-inl.h"
#include "backend/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::backend::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// scores[key] = factor * Σ over c of q[c] * k[key * k_stride + c] for kKeys keys, whose sums are
/// independent and hide each other's latency.
template <int kKeys>
HWY_INLINE void scores_of_keys(const float* q, float factor, const float* k, std::int64_t k_stride,
                               std::int64_t head_dim, float* scores) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = head_dim - head_dim % lanes;
  hn::Vec<decltype(d)> sums[kKeys];
  for (int i = 0; i < kKeys; ++i) sums[i] = hn::Zero(d);
  for (std::int64_t c = 0; c < whole; c += lanes) {
    const auto query = hn::LoadU(d, q + c);
#pragma GCC unroll 4
    for (int i = 0; i < kKeys; ++i) {
      sums[i] = hn::MulAdd(query, hn::LoadU(d, k + i * k_stride + c), sums[i]);
    }
  }
  if (whole < head_dim) {
    const Partial tail{head_dim - whole};
    const auto query = tail.load(d, q + whole);
    for (int i = 0; i < kKeys; ++i) {
      sums[i] = hn::MulAdd(query, tail.load(d, k + i * k_stride + whole), sums[i]);
    }
  }
  for (int i = 0; i < kKeys; ++i) scores[i] = factor * hn::GetLane(hn::SumOfLanes(d, sums[i]));
}

inline void row_scores(const float* q, float factor, const float* k, std::int64_t k_stride,
                       std::int64_t head_dim, std::int64_t keys, float* HWY_RESTRICT scores) {
  constexpr int kKeys = 4;
  std::int64_t key = 0;
  for (; key + kKeys <= keys; key += kKeys) {
    scores_of_keys<kKeys>(q, factor, k + key * k_stride, k_stride, head_dim, scores + key);
  }
  for (; key < keys; ++key) {
    scores_of_keys<1>(q, factor, k + key * k_stride, k_stride, head_dim, scores + key);
  }
}

/// scores[key] becomes 2^(scores[key] - maximum); returns the inverse of their sum.
inline float row_softmax(std::int64_t keys, float* scores) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto tops = hn::Set(d, scores[0]);
  std::int64_t seen = 0;
  for (; seen + lanes <= keys; seen += lanes) tops = hn::Max(tops, hn::LoadU(d, scores + seen));
  float maximum = hn::GetLane(hn::MaxOfLanes(d, tops));
  for (; seen < keys; ++seen) {
    if (scores[seen] > maximum) maximum = scores[seen];
  }
  const auto top = hn::Set(d, maximum);
  auto sums = hn::Zero(d);
  std::int64_t key = 0;
  for (; key + lanes <= keys; key += lanes) {
    const auto weight = Exp2NonPositive(d, hn::Sub(hn::LoadU(d, scores + key), top));
    hn::StoreU(weight, d, scores + key);
    sums = hn::Add(sums, weight);
  }
  if (key < keys) {
    const Partial tail{keys - key};
    const auto weight = Exp2NonPositive(d, hn::Sub(tail.load(d, scores + key), top));
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(keys - key));
    tail.store(d, weight, scores + key);
    sums = hn::Add(sums, hn::IfThenElseZero(inside, weight));
  }
  return 1.0F / hn::GetLane(hn::SumOfLanes(d, sums));
}

/// out[c] = inverse * Σ over keys of weights[key] * v[key * v_stride + c], one vector of channels.
template <class Access>
HWY_INLINE void row_output(Access access, const float* v, std::int64_t v_stride,
                           const float* weights, std::int64_t keys, float inverse, float* out) {
  const hn::ScalableTag<float> d;
  constexpr int kSums = 4;  // Independent sums, to hide the latency of an addition.
  hn::Vec<decltype(d)> sums[kSums] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::int64_t key = 0;
  for (; key + kSums <= keys; key += kSums) {
#pragma GCC unroll 4
    for (int i = 0; i < kSums; ++i) {
      sums[i] = hn::MulAdd(hn::Set(d, weights[key + i]), access.load(d, v + (key + i) * v_stride),
                           sums[i]);
    }
  }
  for (; key < keys; ++key) {
    sums[0] = hn::MulAdd(hn::Set(d, weights[key]), access.load(d, v + key * v_stride), sums[0]);
  }
  const auto sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  access.store(d, hn::Mul(sum, hn::Set(d, inverse)), out);
}

/// The same for kVectors whole vectors side by side, whose sums hide each other's latency and whose
/// loads lie one behind the other.
template <int kVectors>
HWY_INLINE void row_outputs(const float* v, std::int64_t v_stride, const float* weights,
                            std::int64_t keys, float inverse, float* out) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kVectors];
  for (int i = 0; i < kVectors; ++i) sums[i] = hn::Zero(d);
  for (std::int64_t key = 0; key < keys; ++key) {
    const auto weight = hn::Set(d, weights[key]);
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) {
      sums[i] = hn::MulAdd(weight, hn::LoadU(d, v + key * v_stride + i * lanes), sums[i]);
    }
  }
  for (int i = 0; i < kVectors; ++i) {
    hn::StoreU(hn::Mul(sums[i], hn::Set(d, inverse)), d, out + i * lanes);
  }
}

/// One query of one head; `factor` is the scale times log2 e. `scores` has room for `keys`.
inline void attend_row(const float* q, const float* k, std::int64_t k_stride, const float* v,
                       std::int64_t v_stride, std::int64_t keys, std::int64_t head_dim,
                       float factor, float* scores, float* out) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  row_scores(q, factor, k, k_stride, head_dim, keys, scores);
  const float inverse = row_softmax(keys, scores);
  constexpr int kAtOnce = 8;
  std::int64_t c = 0;
  for (; c + kAtOnce * lanes <= head_dim; c += kAtOnce * lanes) {
    row_outputs<kAtOnce>(v + c, v_stride, scores, keys, inverse, out + c);
  }
  for (; c + lanes <= head_dim; c += lanes) {
    row_output(Whole(), v + c, v_stride, scores, keys, inverse, out + c);
  }
  if (c < head_dim) {
    row_output(Partial{head_dim - c}, v + c, v_stride, scores, keys, inverse, out + c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay::backend::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
