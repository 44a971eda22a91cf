#pragma once
/// The bytes of one image, wherever the command line says they are.
#include <cstddef>
#include <string>
#include <vector>

namespace assay::cli {

/// Reads the file `path`, or standard input for "-". Throws not_found, or bad_input where it is
/// larger than an image file may be (1 GiB) or empty.
std::vector<std::byte> read_image_bytes(const std::string& path);

}  // namespace assay::cli
