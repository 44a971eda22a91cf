#include <gmock/gmock.h>

#include <thread>

#include "assay/error.h"
#include "golden.h"
#include "image/limits.h"

namespace assay::image {
namespace {

Transform transform_of(const Json& entry) {
  Transform transform;
  transform.input_height = entry["input"][0];
  transform.input_width = entry["input"][1];
  transform.interpolation = interpolation_from_name(entry["interpolation"].get<std::string>());
  transform.crop_mode = crop_mode_from_name(entry["crop_mode"].get<std::string>());
  transform.crop_pct = entry["crop_pct"];
  return transform;
}

TEST(Transform, IsWhatTimmGives) {
  // One workspace for all, so that what a call leaves behind would be seen by the next.
  Workspace workspace;
  int cases = 0;
  for (const Json& entry : golden("transform.json")) {
    const Image from = noise(entry["from"][0], entry["from"][1]);
    const Transform transform = transform_of(entry);
    ++cases;
    if (entry.contains("error")) {
      EXPECT_THROW(resize_and_crop(from, transform), Error) << entry.dump();
      continue;
    }
    EXPECT_TRUE(matches(resize_and_crop(from, transform), entry)) << entry.dump();
    Image again{.width = transform.input_width, .height = transform.input_height, .pixels = {}};
    again.pixels.resize(static_cast<std::size_t>(again.width * again.height * 3));
    resize_and_crop(view(from), transform, workspace, again.pixels);
    EXPECT_TRUE(matches(again, entry)) << entry.dump();
  }
  EXPECT_GT(cases, 500);
}

TEST(Transform, ReadsRowsWithAStride) {
  const Image from = noise(101, 57);
  const std::size_t stride = 101 * 3 + 29;
  std::vector<std::uint8_t> padded(stride * 56 + 101 * 3, 0xEE);
  for (std::size_t y = 0; y < 57; ++y) {
    std::memcpy(padded.data() + y * stride, from.pixels.data() + y * 303, 303);
  }
  const View strided{.pixels = padded, .width = 101, .height = 57, .stride = stride};
  Workspace workspace;
  for (const Interpolation interpolation :
       {Interpolation::nearest, Interpolation::bicubic, Interpolation::lanczos}) {
    const Transform transform{
        .input_height = 32, .input_width = 40, .interpolation = interpolation};
    std::vector<std::uint8_t> out(32 * 40 * 3);
    resize_and_crop(strided, transform, workspace, out);
    EXPECT_EQ(out, resize_and_crop(from, transform).pixels);
  }
}

TEST(Transform, RunsOnManyThreadsAtOnce) {
  const Image from = noise(101, 57);
  const Transform transform{.input_height = 32, .input_width = 32};
  const Image expected = resize_and_crop(from, transform);
  std::vector<int> same(4);
  {
    std::vector<std::jthread> threads;
    for (int& count : same) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          count += resize_and_crop(from, transform).pixels == expected.pixels ? 1 : 0;
        }
      });
    }
  }
  EXPECT_THAT(same, testing::Each(20));
}

TEST(Transform, RefusesWhatIsOutOfRange) {
  const Image from = noise(5, 5);
  const auto refused = [&](const Transform& transform) {
    EXPECT_THROW(resize_and_crop(from, transform), Error);
  };
  refused({.input_height = 0});
  refused({.input_width = -3});
  refused({.input_height = 1 << 20});
  refused({.input_height = 65'535, .input_width = 65'535});
  refused({.crop_pct = 0});
  refused({.crop_pct = -1});
  refused({.crop_pct = std::numeric_limits<double>::quiet_NaN()});
  refused({.input_height = 2, .input_width = 2, .crop_pct = 3});
  refused({.crop_mode = CropMode::border, .mean = {std::numeric_limits<double>::infinity(), 0, 0}});
  EXPECT_THROW(resize_and_crop({}, {}), Error);
  EXPECT_THROW(resize_and_crop(noise(5'000'000, 1), {}), Error);  // would be 1.28e9 pixels wide

  Workspace workspace;
  std::vector<std::uint8_t> out(10 * 10 * 3);
  const Transform transform{.input_height = 10, .input_width = 10};
  EXPECT_NO_THROW(resize_and_crop(view(from), transform, workspace, out));
  EXPECT_THROW(resize_and_crop(view(from), transform, workspace, std::span(out).first(299)), Error);
  View wrong = view(from);
  wrong.stride = 14;
  EXPECT_THROW(resize_and_crop(wrong, transform, workspace, out), Error);
  wrong.stride = 16;
  EXPECT_THROW(resize_and_crop(wrong, transform, workspace, out), Error);
}

TEST(Transform, HasOneSetOfBounds) {
  EXPECT_EQ(problem_of({}), "");
  EXPECT_EQ(problem_of({.input_height = kMaxInputSide, .input_width = 1, .crop_pct = 0.01}), "");
  EXPECT_EQ(problem_of({.crop_pct = 100}), "");
  const auto refused = [](const Transform& transform, const char* part) {
    EXPECT_THAT(problem_of(transform), testing::HasSubstr(part));
    EXPECT_THROW(resize_and_crop(noise(5, 5), transform), Error);
  };
  refused({.input_height = kMaxInputSide + 1}, "the input size is 4097 × 224");
  refused({.input_width = 0}, "the input size is 224 × 0");
  refused({.crop_pct = 0.0099}, "crop_pct is 0.0099");
  refused({.crop_pct = 100.5}, "crop_pct is 100.5");
  refused({.std = {1, 1e-40, 1}}, "channel 1");
  refused({.std = {1, 1, -1}}, "channel 2");
  refused({.mean = {1e39, 0, 0}}, "channel 0");
}

TEST(Names, RoundTripAndListWhatThereIs) {
  for (const auto interpolation :
       {Interpolation::nearest, Interpolation::box, Interpolation::bilinear, Interpolation::bicubic,
        Interpolation::lanczos}) {
    EXPECT_EQ(interpolation_from_name(name(interpolation)), interpolation);
  }
  for (const auto mode : {CropMode::center, CropMode::squash, CropMode::border}) {
    EXPECT_EQ(crop_mode_from_name(name(mode)), mode);
  }
  try {
    interpolation_from_name("hamming");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), testing::HasSubstr("nearest, box, bilinear, bicubic, lanczos"));
  }
}

}  // namespace
}  // namespace assay::image
