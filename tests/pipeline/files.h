#pragma once
/// Small files for the tests, written without the code under test: PNG, gzip, tar.
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/tiny_bundle.h"

namespace assay::test {

void append(Bytes& bytes, std::string_view text);
Bytes to_bytes(std::string_view text);
void append_big_endian(Bytes& bytes, std::uint32_t number);
Bytes gzipped(const Bytes& content);

/// A PNG of one colour.
Bytes png(int width, int height, std::array<std::uint8_t, 3> colour);
inline Bytes red_png() { return png(6, 5, {255, 0, 0}); }
inline Bytes green_png() { return png(6, 5, {0, 255, 0}); }
inline Bytes blue_png() { return png(6, 5, {0, 0, 255}); }

struct TarEntry {
  std::string name;
  Bytes content;
  char type = '0';
};

/// A ustar file of `entries` with its end marker.
Bytes tar(const std::vector<TarEntry>& entries);

/// Writes `bytes` below this test's folder, making folders as needed; the path.
inline std::filesystem::path put(const std::string& name, const Bytes& bytes) {
  const auto path = temporary(name);
  std::filesystem::create_directories(path.parent_path());
  put_file(path, bytes);
  return path;
}

/// Kind and message of what `body` throws; no kind where it does not.
inline Outcome outcome_of(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
}

}  // namespace assay::test
