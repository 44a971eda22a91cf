#pragma once
/// Small checkpoints made on the spot, and errors looked at by their parts.
#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"
#include "checkpoint/checkpoint.h"

namespace assay::checkpoint {

/// A safetensors file: the header's length, the header, the data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data = "") {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i));
  }
  return bytes.append(header).append(data);
}

/// {"name": {"dtype": ..., "shape": [...], "data_offsets": [...]}} without the outer braces.
inline std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                         std::string_view offsets) {
  return "\"" + std::string(name) + R"(":{"dtype":")" + std::string(dtype) + R"(","shape":[)" +
         std::string(shape) + R"(],"data_offsets":[)" + std::string(offsets) + "]}";
}

/// A folder of this test's own, empty at the start.
inline std::filesystem::path fresh_folder(std::string_view name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "checkpoint_tests" /
                      testing::UnitTest::GetInstance()->current_test_info()->name() / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string read_back(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Expects `call` to throw Error of `kind` whose message has every part.
template <typename Call>
void expect_error(ErrorKind kind, const std::vector<std::string>& parts, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    for (const std::string& part : parts) {
      EXPECT_THAT(error.what(), testing::HasSubstr(part));
    }
    EXPECT_LT(std::strlen(error.what()), 4000U);
  }
}

}  // namespace assay::checkpoint
