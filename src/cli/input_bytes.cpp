#include "cli/input_bytes.h"

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace assay::cli {
namespace {

constexpr std::size_t kLimit = std::size_t{1} << 30;

std::vector<std::byte> read_standard_input() {
  constexpr std::size_t kChunk = 64 << 10;
  std::vector<std::byte> bytes;
  std::size_t got = 0;
  do {
    bytes.resize(bytes.size() + kChunk);
    got = std::fread(bytes.data() + bytes.size() - kChunk, 1, kChunk, stdin);
    bytes.resize(bytes.size() - kChunk + got);
    if (bytes.size() > kLimit) {
      fail(ErrorKind::bad_input, "standard input: more than {} MiB, too large for an image file",
           kLimit >> 20);
    }
  } while (got > 0);
  if (std::ferror(stdin) != 0) fail(ErrorKind::bad_input, "standard input can't be read");
  return bytes;
}

/// A pipe, a terminal or a device, by whatever name: its bytes come through standard input alone.
void check_regular(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) return;  // said better where it is opened
  if (std::filesystem::is_regular_file(status) || std::filesystem::is_directory(status)) return;
  fail(ErrorKind::bad_input, "{}: is not a regular file; to read standard input, name it -", path);
}

}  // namespace

std::vector<std::byte> read_image_bytes(const std::string& path) {
  if (path != "-") check_regular(path);
  std::vector<std::byte> bytes = path == "-" ? read_standard_input() : read_file(path, kLimit);
  if (bytes.empty()) {
    fail(ErrorKind::bad_input, "{}: empty, expected a JPEG, PNG or WebP file",
         path == "-" ? "standard input" : path);
  }
  return bytes;
}

}  // namespace assay::cli
