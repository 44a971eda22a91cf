#include "checkpoint/safetensors_layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "checkpoint/quote.h"

namespace assay::checkpoint {
namespace {

void check_unique(const std::vector<HeaderEntry>& tensors, std::string_view file) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const HeaderEntry& tensor : tensors) {
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    fail(ErrorKind::bad_input, "{}: tensor {} is in the header twice", file, quote(*twice));
  }
}

/// shape × dtype in bits, or none where it overflows. Multiplied in the shape's order, so that an
/// overflow is one even where a later extent is 0, as the format's own reader has it.
std::optional<std::uint64_t> bits_of(const HeaderEntry& tensor) {
  std::uint64_t bits = 1;
  for (const std::int64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(extent), &bits)) {
      return std::nullopt;
    }
  }
  if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(size_in_bits(tensor.dtype)), &bits)) {
    return std::nullopt;
  }
  return bits;
}

void check_size(const HeaderEntry& tensor, std::string_view file) {
  if (tensor.end < tensor.begin) {
    fail(ErrorKind::corrupt, "{}: tensor {} ends at {} before it begins at {}", file,
         quote(tensor.name), tensor.end, tensor.begin);
  }
  const std::optional<std::uint64_t> bits = bits_of(tensor);
  if (!bits) {
    fail(ErrorKind::corrupt, "{}: tensor {}: the shape [{}] of {} overflows", file,
         quote(tensor.name), fmt::join(tensor.shape, ", "), name(tensor.dtype));
  }
  if (*bits % 8 != 0) {
    fail(ErrorKind::corrupt, "{}: tensor {}: the shape [{}] of {} does not fill whole bytes", file,
         quote(tensor.name), fmt::join(tensor.shape, ", "), name(tensor.dtype));
  }
  if (*bits / 8 != tensor.end - tensor.begin) {
    fail(ErrorKind::corrupt,
         "{}: tensor {}: the shape [{}] of {} needs {} bytes, but data_offsets give it {}", file,
         quote(tensor.name), fmt::join(tensor.shape, ", "), name(tensor.dtype), *bits / 8,
         tensor.end - tensor.begin);
  }
}

/// That the tensors' ranges cover `data_size` bytes exactly.
void check_ranges(const std::vector<HeaderEntry>& tensors, std::uint64_t data_size,
                  std::string_view file) {
  std::vector<const HeaderEntry*> order;
  order.reserve(tensors.size());
  for (const HeaderEntry& tensor : tensors) {
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const HeaderEntry* a, const HeaderEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t covered = 0;
  const HeaderEntry* previous = nullptr;
  for (const HeaderEntry* tensor : order) {
    if (tensor->end > data_size) {
      fail(ErrorKind::corrupt,
           "{}: truncated: tensor {} lies at bytes {} to {} of the data, and the file has {}", file,
           quote(tensor->name), tensor->begin, tensor->end, data_size);
    }
    if (tensor->begin < covered) {
      fail(ErrorKind::corrupt, "{}: tensors {} and {} overlap: [{}, {}) and [{}, {})", file,
           quote(previous->name), quote(tensor->name), previous->begin, previous->end,
           tensor->begin, tensor->end);
    }
    if (tensor->begin > covered) {
      fail(ErrorKind::corrupt, "{}: a hole of {} bytes before tensor {}, which begins at {}", file,
           tensor->begin - covered, quote(tensor->name), tensor->begin);
    }
    covered = tensor->end;
    previous = tensor;
  }
  if (covered != data_size) {
    fail(ErrorKind::corrupt, "{}: {} trailing bytes behind the last tensor{}", file,
         data_size - covered, previous == nullptr ? "" : " " + quote(previous->name));
  }
}

}  // namespace

void check_layout(const std::vector<HeaderEntry>& tensors, std::uint64_t data_size,
                  std::string_view file) {
  check_unique(tensors, file);
  for (const HeaderEntry& tensor : tensors) {
    check_size(tensor, file);
  }
  check_ranges(tensors, data_size, file);
}

}  // namespace assay::checkpoint
