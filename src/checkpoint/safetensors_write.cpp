#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/quote.h"
#include "checkpoint/safetensors.h"

namespace assay::checkpoint {
namespace {

/// The format's own order of types, by falling alignment.
constexpr std::array kOrder{
    DType::u64,     DType::i64,         DType::f64,         DType::c64,     DType::f32,
    DType::u32,     DType::i32,         DType::bf16,        DType::f16,     DType::u16,
    DType::i16,     DType::f8_e5m2fnuz, DType::f8_e4m3fnuz, DType::f8_e8m0, DType::f8_e4m3,
    DType::f8_e5m2, DType::i8,          DType::u8,          DType::f6_e3m2, DType::f6_e2m3,
    DType::f4,      DType::boolean,
};

std::size_t rank_of(DType dtype) {
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), dtype) - kOrder.begin());
}

std::vector<const TensorView*> in_file_order(const Weights& weights) {
  std::vector<const TensorView*> order;
  for (const auto& [name, tensor] : weights.all()) {
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
    return rank_of(a->dtype) < rank_of(b->dtype);
  });
  return order;
}

void check_bytes(const TensorView& tensor, const std::filesystem::path& file) {
  const auto bits = static_cast<std::uint64_t>(tensor.elements()) *
                    static_cast<std::uint64_t>(size_in_bits(tensor.dtype));
  if (bits % 8 != 0 || bits / 8 != tensor.bytes.size()) {
    fail(ErrorKind::bad_input, "{}: tensor {} has {} bytes, but its shape needs {} bits",
         file.string(), quote(tensor.name), tensor.bytes.size(), bits);
  }
}

std::string header_of(const Weights& weights, const std::vector<const TensorView*>& order) {
  Json header = Json::object();
  if (!weights.metadata.empty()) {
    header["__metadata__"] = weights.metadata;
  }
  // Appended without a look-up: an ordered object searches its keys one by one.
  std::string text = header.dump();
  text.pop_back();
  std::uint64_t offset = 0;
  for (const TensorView* tensor : order) {
    Json entry = Json::object();
    entry["dtype"] = name(tensor->dtype);
    entry["shape"] = tensor->shape;
    entry["data_offsets"] = {offset, offset + tensor->bytes.size()};
    offset += tensor->bytes.size();
    text += text.size() == 1 ? "" : ",";
    text += Json(tensor->name).dump() + ":" + entry.dump();
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, const Weights& weights) {
  const std::vector<const TensorView*> order = in_file_order(weights);
  for (const TensorView* tensor : order) {
    check_bytes(*tensor, file);
  }
  const std::string header = header_of(weights, order);
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  }
  AtomicFile out(file);
  out.write(length);
  out.write(header);
  for (const TensorView* tensor : order) {
    out.write(tensor->bytes);
  }
  out.commit();
}

}  // namespace assay::checkpoint
