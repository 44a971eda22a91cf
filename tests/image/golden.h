#pragma once
/// The goldens of tests/golden/image, and the pixels that they were made from.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "image/image.h"

namespace assay::image {

inline std::filesystem::path golden_path(std::string_view name) {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/image" / name;
}

inline Json golden(std::string_view name) {
  return parse_json(read_text(golden_path(name), 1 << 22), name);
}

inline std::vector<std::byte> golden_file(std::string_view name) {
  return read_file(golden_path(name), 1 << 22);
}

inline std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// Whether `image` is, bit for bit, what `entry` records.
inline testing::AssertionResult matches(const Image& image, const Json& entry) {
  if (image.width != entry["width"] || image.height != entry["height"]) {
    return testing::AssertionFailure() << image.width << " × " << image.height << " pixels, not "
                                       << entry["width"] << " × " << entry["height"];
  }
  if (sha256_hex(std::as_bytes(std::span(image.pixels))) == entry["sha256"]) {
    return testing::AssertionSuccess();
  }
  auto failure = testing::AssertionFailure() << "other pixels";
  if (entry.contains("pixels")) {
    failure << ": " << hex(image.pixels) << ", not " << entry["pixels"];
  }
  return failure;
}

/// The image that make_image_goldens.py calls noise(width, height).
inline Image noise(int width, int height) {
  Image image{.width = width, .height = height, .pixels = {}};
  image.pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  std::uint32_t state = static_cast<std::uint32_t>(width) * 2654435761U +
                        static_cast<std::uint32_t>(height) * 40503U + 12345U;
  for (std::uint8_t& value : image.pixels) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    const std::uint32_t kind = state >> 30;
    value = kind == 0   ? std::uint8_t{0}
            : kind == 1 ? std::uint8_t{255}
                        : static_cast<std::uint8_t>(state >> 8);
  }
  return image;
}

}  // namespace assay::image
