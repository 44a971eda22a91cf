#pragma once
/// The JSON header of a safetensors file: what each tensor is and where its bytes lie.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/dtype.h"

namespace assay::checkpoint {

/// One tensor as the header describes it. Offsets count from the first byte behind the header.
struct HeaderEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderEntry> tensors;  ///< in the header's order
  std::map<std::string, std::string> metadata;
};

/// Far above any published file (a mixture of experts in one file has some 30,000 tensors), and low
/// enough that a hostile header of 100 MB cannot grow into gigabytes of small allocations.
constexpr std::size_t kMaxTensors = 250'000;
constexpr std::size_t kMaxMetadataEntries = 100'000;
constexpr std::size_t kMaxRank = 64;  ///< NumPy's and PyTorch's own limit

/// Parses the header's text as a stream: no document is built. Checks the form of every entry;
/// whether the entries fit each other and the data is check_layout()'s (safetensors_layout.h).
/// Throws bad_input naming `file` and the tensor.
Header parse_header(std::string_view json, std::string_view file);

}  // namespace assay::checkpoint
