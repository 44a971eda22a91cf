#pragma once
/// Numbers between a View's memory and fp32 registers, one or several at a time, and the
/// activations. Where the store is known when compiling and the address is aligned (the `_as`
/// functions), loads of several rows are under way together; the others ask first, and so wait for
/// each other.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstddef>
#include <cstdint>

#include "backend/cuda/kernels/instruction.h"

namespace assay::backend::cuda {

/// The element offset of (row, column) of an image.
__device__ inline std::int64_t at(const View& view, int image, int row, int column) {
  return image * view.image_stride + static_cast<std::int64_t>(row) * view.row_stride + column;
}

__device__ inline std::byte* address_of(const View& view, std::int64_t offset) {
  return static_cast<std::byte*>(view.data) + offset * bytes_of(view.store);
}

/// The bytes that `count` numbers are moved by at once.
constexpr int vector_bytes(Store store, int count) {
  const int bytes = count * bytes_of(store);
  return bytes < 16 ? bytes : 16;
}

/// Whether `pointer` is a multiple of `bytes`, a power of two.
__device__ inline bool is_aligned(const void* pointer, int bytes) {
  return (reinterpret_cast<std::uintptr_t>(pointer) & static_cast<unsigned>(bytes - 1)) == 0;
}

/// y = x Φ(x) with the normal distribution's Φ (arXiv 1606.08415), and x / (1 + exp(-x)).
__device__ inline float act(Act kind, float x) {
  constexpr float kInverseSqrt2 = 0.70710678F;
  switch (kind) {
    case Act::gelu:
      return 0.5F * x * (1.0F + erff(x * kInverseSqrt2));
    case Act::silu:
      return __fdividef(x, 1.0F + expf(-x));
    default:
      return x;
  }
}

__device__ inline float2 floats_of_f16(std::uint32_t pair) {
  return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}
__device__ inline float2 floats_of_bf16(std::uint32_t pair) {
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xFFFF0000U));
}
__device__ inline float2 floats_of_e4m3(std::uint32_t pair) {
  const __half2_raw halves =
      __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair), __NV_E4M3);
  return __half22float2(__half2(halves));
}

/// Two numbers rounded to nearest even, the first one lower.
__device__ inline std::uint32_t pack_f16(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
__device__ inline std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}
/// The same as codes of E4M3, which saturate.
__device__ inline std::uint32_t pack_e4m3(float low, float high) {
  return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E4M3);
}

/// Words at an aligned address.
template <int kWords>
__device__ inline void load_words(const std::byte* from, std::uint32_t (&words)[kWords]) {
  if constexpr (kWords == 1) {
    words[0] = *reinterpret_cast<const std::uint32_t*>(from);
  } else if constexpr (kWords == 2) {
    const uint2 part = *reinterpret_cast<const uint2*>(from);
    words[0] = part.x;
    words[1] = part.y;
  } else {
#pragma unroll
    for (int i = 0; i < kWords; i += 4) {
      const uint4 part = *reinterpret_cast<const uint4*>(from + i * 4);
      words[i] = part.x;
      words[i + 1] = part.y;
      words[i + 2] = part.z;
      words[i + 3] = part.w;
    }
  }
}

template <int kWords>
__device__ inline void store_words(std::byte* to, const std::uint32_t (&words)[kWords]) {
  if constexpr (kWords == 1) {
    *reinterpret_cast<std::uint32_t*>(to) = words[0];
  } else if constexpr (kWords == 2) {
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
  } else {
#pragma unroll
    for (int i = 0; i < kWords; i += 4) {
      *reinterpret_cast<uint4*>(to + i * 4) =
          make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
    }
  }
}

/// How many words `kCount` numbers are.
template <Store kStore, int kCount>
inline constexpr int kWordsOf = kCount* bytes_of(kStore) / 4;

/// The numbers that words stand for; `scale` is the view's.
template <Store kStore, int kCount>
__device__ inline void unpack_words(const std::uint32_t (&words)[kWordsOf<kStore, kCount>],
                                    float scale, float (&x)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    float2 pair;
    if constexpr (kStore == Store::f16) {
      pair = floats_of_f16(words[i / 2]);
    } else if constexpr (kStore == Store::bf16) {
      pair = floats_of_bf16(words[i / 2]);
    } else if constexpr (kStore == Store::e4m3) {
      const float2 codes = floats_of_e4m3(words[i / 4] >> (8 * (i % 4)) & 0xFFFFU);
      pair = make_float2(codes.x * scale, codes.y * scale);
    } else {
      pair = make_float2(__uint_as_float(words[i]), __uint_as_float(words[i + 1]));
    }
    x[i] = pair.x;
    x[i + 1] = pair.y;
  }
}

template <Store kStore, int kCount>
__device__ inline void pack_words(const float (&x)[kCount], float scale,
                                  std::uint32_t (&words)[kWordsOf<kStore, kCount>]) {
  const float inverse = kStore == Store::e4m3 ? 1.0F / scale : 1.0F;
  for (std::uint32_t& word : words) word = 0;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    if constexpr (kStore == Store::f16) {
      words[i / 2] = pack_f16(x[i], x[i + 1]);
    } else if constexpr (kStore == Store::bf16) {
      words[i / 2] = pack_bf16(x[i], x[i + 1]);
    } else if constexpr (kStore == Store::e4m3) {
      words[i / 4] |= pack_e4m3(x[i] * inverse, x[i + 1] * inverse) << (8 * (i % 4));
    } else {
      words[i] = __float_as_uint(x[i]);
      words[i + 1] = __float_as_uint(x[i + 1]);
    }
  }
}

/// Number `offset` of a view.
__device__ inline float load1(const View& view, std::int64_t offset) {
  const std::byte* const from = address_of(view, offset);
  switch (view.store) {
    case Store::f16:
      return __half2float(*reinterpret_cast<const __half*>(from));
    case Store::bf16:
      return __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(from));
    case Store::e4m3:
      return floats_of_e4m3(*reinterpret_cast<const std::uint8_t*>(from)).x * view.scale;
    default:
      return *reinterpret_cast<const float*>(from);
  }
}

/// Writes number `offset`, rounded to nearest even; E4M3 saturates.
__device__ inline void store1(const View& view, std::int64_t offset, float x) {
  std::byte* const to = address_of(view, offset);
  switch (view.store) {
    case Store::f16:
      *reinterpret_cast<__half*>(to) = __float2half_rn(x);
      return;
    case Store::bf16:
      *reinterpret_cast<__nv_bfloat16*>(to) = __float2bfloat16_rn(x);
      return;
    case Store::e4m3:
      *reinterpret_cast<std::uint8_t*>(to) =
          __nv_cvt_float_to_fp8(x * (1.0F / view.scale), __NV_SATFINITE, __NV_E4M3);
      return;
    default:
      *reinterpret_cast<float*>(to) = x;
  }
}

/// Numbers [offset, offset + kCount) of a view of type `kStore`. The caller promises that they are
/// aligned as vector_bytes() says.
template <Store kStore, int kCount>
__device__ inline void load_as(const View& view, std::int64_t offset, float (&x)[kCount]) {
  std::uint32_t words[kWordsOf<kStore, kCount>];
  load_words(static_cast<const std::byte*>(view.data) + offset * bytes_of(kStore), words);
  unpack_words<kStore>(words, view.scale, x);
}

template <Store kStore, int kCount>
__device__ inline void store_as(const View& view, std::int64_t offset, const float (&x)[kCount]) {
  std::uint32_t words[kWordsOf<kStore, kCount>];
  pack_words<kStore>(x, view.scale, words);
  store_words(static_cast<std::byte*>(view.data) + offset * bytes_of(kStore), words);
}

/// Numbers [offset, offset + kCount) of a view, 4 or 8, of any type and at any address.
template <int kCount>
__device__ inline void load_numbers(const View& view, std::int64_t offset, float (&x)[kCount]) {
  if (!is_aligned(address_of(view, offset), vector_bytes(view.store, kCount))) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = load1(view, offset + i);
    return;
  }
  switch (view.store) {
    case Store::f16:
      return load_as<Store::f16>(view, offset, x);
    case Store::bf16:
      return load_as<Store::bf16>(view, offset, x);
    case Store::e4m3:
      return load_as<Store::e4m3>(view, offset, x);
    default:
      return load_as<Store::f32>(view, offset, x);
  }
}

template <int kCount>
__device__ inline void store_numbers(const View& view, std::int64_t offset,
                                     const float (&x)[kCount]) {
  if (!is_aligned(address_of(view, offset), vector_bytes(view.store, kCount))) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) store1(view, offset + i, x[i]);
    return;
  }
  switch (view.store) {
    case Store::f16:
      return store_as<Store::f16>(view, offset, x);
    case Store::bf16:
      return store_as<Store::bf16>(view, offset, x);
    case Store::e4m3:
      return store_as<Store::e4m3>(view, offset, x);
    default:
      return store_as<Store::f32>(view, offset, x);
  }
}

/// Of a type or at an address that few steps have: not inlined, so that the others stay small.
static __device__ __noinline__ void load8_any(const View& view, std::int64_t offset, float* x) {
  float numbers[8];
  load_numbers(view, offset, numbers);
  for (int i = 0; i < 8; ++i) x[i] = numbers[i];
}
static __device__ __noinline__ void store8_any(const View& view, std::int64_t offset,
                                               const float* x) {
  float numbers[8];
  for (int i = 0; i < 8; ++i) numbers[i] = x[i];
  store_numbers(view, offset, numbers);
}

/// Numbers [offset, offset + 8) of any view.
__device__ inline void load8(const View& view, std::int64_t offset, float (&x)[8]) {
  if (view.store == Store::f16 && is_aligned(address_of(view, offset), 16)) {
    return load_as<Store::f16>(view, offset, x);
  }
  float any[8];  // apart from `x`, which stays in registers
  load8_any(view, offset, any);
  for (int i = 0; i < 8; ++i) x[i] = any[i];
}
__device__ inline void store8(const View& view, std::int64_t offset, const float (&x)[8]) {
  if (view.store == Store::f16 && is_aligned(address_of(view, offset), 16)) {
    return store_as<Store::f16>(view, offset, x);
  }
  float any[8];
  for (int i = 0; i < 8; ++i) any[i] = x[i];
  store8_any(view, offset, any);
}

/// The activation of eight numbers, chosen once.
__device__ inline void activate(Act kind, float (&x)[8]) {
  if (kind == Act::gelu) {
    for (float& number : x) number = act(Act::gelu, number);
  } else if (kind == Act::silu) {
    for (float& number : x) number = act(Act::silu, number);
  }
}

}  // namespace assay::backend::cuda
