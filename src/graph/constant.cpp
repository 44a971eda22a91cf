#include <utility>

#include "base/error.h"
#include "graph/graph.h"

namespace assay::graph {

bool is_constant_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
    case DType::f8_e4m3:
    case DType::f8_e5m2:
      return true;
    default:
      return false;
  }
}

bool is_code_type(DType dtype) { return dtype == DType::i8 || dtype == DType::f4; }

Constant make_constant(std::vector<float> values) {
  auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  const auto bytes = std::as_bytes(std::span<const float>(*owner));
  return Constant{DType::f32, bytes, std::move(owner)};
}

Constant make_constant(DType dtype, std::span<const std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  const std::span<const std::byte> owned(*owner);
  return Constant{dtype, owned, std::move(owner)};
}

std::vector<float> to_f32(const Constant& constant) {
  if (!is_constant_type(constant.dtype)) {
    fail(ErrorKind::unsupported, "a constant of type {} has no fp32 form", name(constant.dtype));
  }
  const auto bytes_each = static_cast<std::size_t>(size_in_bits(constant.dtype)) / 8;
  std::vector<float> numbers(constant.bytes.size() / bytes_each);
  convert_to_f32(constant.dtype, constant.bytes, numbers);
  return numbers;
}

}  // namespace assay::graph
