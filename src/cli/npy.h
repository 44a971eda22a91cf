#pragma once
/// Arrays as NumPy's .npy files.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

/// The header of a .npy file (format 1.0, C order): magic, version, and the dictionary padded so
/// that the data begins at a multiple of 64 bytes. `descr` is NumPy's type string: "|u1", "<f4".
/// Source: numpy/lib/format.py.
std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape);

}  // namespace assay::cli
