#include "numerics/dtype.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "base/error.h"
#include "numerics/bf16.h"
#include "numerics/e4m3.h"
#include "numerics/e5m2.h"
#include "numerics/fp16.h"

namespace assay {
namespace {

static_assert(std::endian::native == std::endian::little, "stored numbers are read in place");

struct Row {
  DType dtype;
  std::string_view name;
  int bits;
};

// In the order of the enumeration, so that a dtype indexes its row.
constexpr std::array kRows{
    Row{DType::boolean, "BOOL", 8},
    Row{DType::u8, "U8", 8},
    Row{DType::i8, "I8", 8},
    Row{DType::u16, "U16", 16},
    Row{DType::i16, "I16", 16},
    Row{DType::u32, "U32", 32},
    Row{DType::i32, "I32", 32},
    Row{DType::u64, "U64", 64},
    Row{DType::i64, "I64", 64},
    Row{DType::f16, "F16", 16},
    Row{DType::bf16, "BF16", 16},
    Row{DType::f32, "F32", 32},
    Row{DType::f64, "F64", 64},
    Row{DType::c64, "C64", 64},
    Row{DType::f8_e4m3, "F8_E4M3", 8},
    Row{DType::f8_e5m2, "F8_E5M2", 8},
    Row{DType::f8_e8m0, "F8_E8M0", 8},
    Row{DType::f6_e2m3, "F6_E2M3", 6},
    Row{DType::f6_e3m2, "F6_E3M2", 6},
    Row{DType::f4, "F4", 4},
    Row{DType::f8_e4m3fnuz, "F8_E4M3FNUZ", 8},
    Row{DType::f8_e5m2fnuz, "F8_E5M2FNUZ", 8},
};

constexpr bool rows_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_in_order());

const Row& row(DType dtype) { return kRows.at(static_cast<std::size_t>(dtype)); }

/// Reads one `Code` after the other, wherever they lie, and decodes each.
template <typename Code, typename Decode>
void convert(std::span<const std::byte> bytes, std::span<float> out, Decode decode) {
  const std::byte* from = bytes.data();
  for (float& number : out) {
    Code code;
    std::memcpy(&code, from, sizeof code);
    number = decode(code);
    from += sizeof code;
  }
}

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

int size_in_bits(DType dtype) { return row(dtype).bits; }

void convert_to_f32(DType dtype, std::span<const std::byte> bytes, std::span<float> out) {
  const auto element = static_cast<std::size_t>(size_in_bits(dtype)) / 8;
  const auto check_size = [&] {
    if (bytes.size() / element == out.size() && bytes.size() % element == 0) return;
    fail(ErrorKind::bad_input, "{} bytes of {} were given for {} numbers of {} bytes each",
         bytes.size(), name(dtype), out.size(), element);
  };
  switch (dtype) {
    case DType::f32:
      check_size();
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case DType::f64:
      check_size();
      return convert<double>(bytes, out, [](double x) { return static_cast<float>(x); });
    case DType::f16:
      check_size();
      return convert<std::uint16_t>(bytes, out, numerics::Fp16::decode);
    case DType::bf16:
      check_size();
      return convert<std::uint16_t>(bytes, out, numerics::Bf16::decode);
    case DType::f8_e4m3:
      check_size();
      return convert<std::uint8_t>(bytes, out, numerics::E4m3::decode);
    case DType::f8_e5m2:
      check_size();
      return convert<std::uint8_t>(bytes, out, numerics::E5m2::decode);
    default:
      fail(ErrorKind::unsupported,
           "numbers of type {} cannot be read as fp32; F64, F32, F16, "
           "BF16, F8_E4M3 and F8_E5M2 can",
           name(dtype));
  }
}

}  // namespace assay
