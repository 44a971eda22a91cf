#pragma once
/// Element types as safetensors names them, and their conversion to fp32.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace assay {

/// Every dtype of the safetensors format. Sub-byte types have a size in bits only.
enum class DType : std::uint8_t {
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f6_e2m3,
  f6_e3m2,
  f4,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
};

/// "F32", "BF16", "F8_E4M3", ... as in a safetensors header.
std::string_view name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
int size_in_bits(DType dtype);

/// Converts `bytes` (little-endian, unaligned allowed) of floating type f16, bf16, f32, f64,
/// f8_e4m3 or f8_e5m2 to fp32. Throws unsupported for any other type, bad_input where
/// bytes.size() is not out.size() elements.
void convert_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace assay
