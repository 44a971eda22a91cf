/// The example checkpoints against timm, through the reference backend.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "families/example.h"
#include "families/tables.h"
#include "image/image.h"

namespace assay::families {
namespace {

struct Case {
  std::string architecture;
  int height;
  int width;
  int optimization_level;
};

/// As made_image() of tests/golden/make_model_goldens.py.
std::vector<std::uint8_t> made_image(int height, int width) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        pixels.push_back(static_cast<std::uint8_t>(7 * y + 13 * x + 57 * c + x * y / 16));
      }
    }
  }
  return pixels;
}

/// timm's answers here are computed in float64; ours hold sums in double and round each value to
/// fp32 once. Logits of order 10 behind some 100 roundings of 2^-24, each passed on at about its
/// own size, are off by 10 × 2^-24 × √100 = 6e-6. CrossViT adds the positions of its bicubic
/// samples, which are fp32 here, as in torch's fp32, and float64 there.
constexpr double kMadeTolerance = 2e-5;

class MadeImage : public testing::TestWithParam<Case> {};

TEST_P(MadeImage, GivesTimmsLogitsAndFeatures) {
  const auto& [architecture, height, width, level] = GetParam();
  const std::string name =
      architecture + "/" + std::to_string(height) + "x" + std::to_string(width);
  const std::vector<float> logits = numbers_of(golden_tensor(name + "/logits"));
  const std::vector<float> features = numbers_of(golden_tensor(name + "/features"));
  const Answer got = answer(example(architecture, height, width, level), made_image(height, width),
                            features.size());
  EXPECT_LT(difference(got.logits, logits).largest, kMadeTolerance);
  EXPECT_LT(difference(got.features, features).largest, kMadeTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Examples, MadeImage,
    testing::Values(Case{"crossvit_9_240", 240, 240, 0}, Case{"mobilevit_xxs", 256, 256, 0},
                    Case{"mobilevit_xxs", 256, 256, 1}, Case{"mobilevit_xs", 256, 256, 1},
                    Case{"mobilevit_s", 256, 256, 1}, Case{"mobilevit_xxs", 200, 232, 0},
                    Case{"mobilevit_xxs", 96, 160, 1}),
    [](const auto& chosen) {
      const Case& c = chosen.param;
      return c.architecture + "_" + std::to_string(c.height) + "x" + std::to_string(c.width) +
             "_level_" + std::to_string(c.optimization_level);
    });

/// A Fashion-MNIST image as the example's 8-bit input.
std::vector<std::uint8_t> test_image(std::size_t index, const image::Transform& transform) {
  constexpr int kSide = 28;
  image::Image picture{kSide, kSide, {}};
  const auto grey =
      golden_tensor("fashion_mnist/images").bytes.subspan(index * kSide * kSide, kSide * kSide);
  for (const std::byte level : grey) {
    picture.pixels.insert(picture.pixels.end(), 3, std::to_integer<std::uint8_t>(level));
  }
  return image::resize_and_crop(picture, transform).pixels;
}

/// The published logits are fp32 on both sides, so that their roundings are in the difference too.
/// The project's bounds: a right implementation was seen at 8e-5 and 0.5 to 2.1e-6, and one with a
/// wrong epsilon has a mean of 5.5e-6 or more.
constexpr double kLargest = 3e-4;
constexpr double kMean = 4e-6;

struct Published {
  std::string architecture;
  std::size_t images;
};

class PublishedLogits : public testing::TestWithParam<Published> {};

TEST_P(PublishedLogits, AreReproduced) {
  const auto& [architecture, images] = GetParam();
  const int side = architecture.starts_with("crossvit") ? 240 : 256;
  const Example model = example(architecture, side, side, 1);
  const checkpoint::Weights published =
      checkpoint::read_safetensors(model.checkpoint.folder / "reference_logits.safetensors");
  const std::vector<float> all = numbers_of(*published.find("logits"));
  const auto positions = golden_tensor("fashion_mnist/positions").bytes;
  std::vector<float> got;
  std::vector<float> wanted;
  for (std::size_t i = 0; i < images; ++i) {
    std::int64_t position = 0;
    std::memcpy(&position, positions.data() + i * sizeof(position), sizeof(position));
    const auto row = all.begin() + position * 10;
    wanted.insert(wanted.end(), row, row + 10);
    const Answer one = answer(model, test_image(i, model.checkpoint.config.transform), 0);
    got.insert(got.end(), one.logits.begin(), one.logits.end());
  }
  const Difference found = difference(got, wanted);
  EXPECT_LT(found.largest, kLargest);
  EXPECT_LT(found.mean, kMean);
  RecordProperty("difference", fmt::format("{:.3g} {:.3g}", found.largest, found.mean));
}

INSTANTIATE_TEST_SUITE_P(Examples, PublishedLogits,
                         testing::Values(Published{"crossvit_9_240", 1},
                                         Published{"mobilevit_xxs", 2},
                                         Published{"mobilevit_xs", 1}, Published{"mobilevit_s", 1}),
                         [](const auto& chosen) { return chosen.param.architecture; });

}  // namespace
}  // namespace assay::families
