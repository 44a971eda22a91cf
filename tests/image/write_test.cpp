#include "image/write.h"

#include <numeric>

#include "assay/error.h"
#include "golden.h"

namespace assay::image {
namespace {

std::filesystem::path temporary(std::string_view name) {
  return std::filesystem::path(testing::TempDir()) / fmt::format("assay_image_{}", name);
}

std::string hex_of(const std::filesystem::path& file) {
  const std::string text = read_text(file, 1 << 20);
  return hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(Write, ReadsBackItsOwnPng) {
  for (const auto& [width, height] : {std::pair{1, 1}, {50, 37}, {3, 200}}) {
    const Image image = noise(width, height);
    const auto file = temporary("write.png");
    write_png(file, image);
    const Image back = decode(read_file(file, 1 << 20), "write.png");
    EXPECT_EQ(back.width, width);
    EXPECT_EQ(back.height, height);
    EXPECT_EQ(back.pixels, image.pixels);
    std::filesystem::remove(file);
  }
}

TEST(Write, WritesNpyAsNumpyDoes) {
  const Json expected = golden("npy.json");
  const auto file = temporary("write.npy");
  for (const Json& entry : expected) {
    const auto& shape = entry["shape"];
    if (entry["type"] == "uint8") {
      write_npy(file, noise(shape[1], shape[0]));
    } else {
      std::vector<float> values(shape[0].get<std::size_t>() * shape[1].get<std::size_t>() *
                                shape[2].get<std::size_t>());
      std::iota(values.begin(), values.end(), -1.5F);
      write_npy(file, values, shape[0], shape[1], shape[2]);
    }
    EXPECT_EQ(hex_of(file), entry["bytes"].get<std::string>());
  }
  std::filesystem::remove(file);
}

TEST(Write, RefusesWhatIsNotAnImage) {
  const auto file = temporary("refused");
  const Image wrong{.width = 2, .height = 2, .pixels = {1, 2, 3}};
  EXPECT_THROW(write_png(file, wrong), Error);
  EXPECT_THROW(write_npy(file, wrong), Error);
  EXPECT_THROW(write_npy(file, std::vector<float>(5), 3, 1, 2), Error);
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace assay::image
