#include "pipeline/preprocess.h"

#include <gmock/gmock.h>

#include "pipeline/files.h"

namespace assay::pipeline {
namespace {

TEST(Preprocess, GivesEachStage) {
  image::Transform transform;
  transform.input_height = 3;
  transform.input_width = 4;
  transform.mean = {0.5, 0.5, 0.5};
  transform.std = {0.5, 0.25, 1};
  const auto file = test::png(6, 5, {255, 0, 255});
  const auto at = [&](Stage stage) { return preprocess(file, "x.png", transform, {}, stage); };
  const Preprocessed decoded = at(Stage::decoded);
  EXPECT_EQ(decoded.image.width, 6);
  EXPECT_EQ(decoded.image.height, 5);
  EXPECT_EQ(decoded.image.pixels.size(), 90u);
  const Preprocessed resized = at(Stage::resized);
  EXPECT_EQ(resized.image.width, 4);
  EXPECT_EQ(resized.image.height, 3);
  EXPECT_EQ(resized.image.pixels[0], 255);
  EXPECT_EQ(resized.image.pixels[1], 0);
  const Preprocessed tensor = at(Stage::tensor);
  ASSERT_EQ(tensor.tensor.size(), 36u);
  EXPECT_EQ(tensor.tensor[0], 1.0F);
  EXPECT_EQ(tensor.tensor[11], 1.0F);
  EXPECT_EQ(tensor.tensor[12], -2.0F);
  EXPECT_EQ(tensor.tensor[35], 0.5F);
}

TEST(Preprocess, AnImageTooLongToResizeIsRefusedByItsHeadersWord) {
  test::Bytes file = test::png(5'000'000, 1, {255, 0, 255});
  file.resize(file.size() / 2);  // reading pixels would end in another error
  for (const bool rotate : {false, true}) {
    const auto outcome = test::outcome_of([&] {
      (void)preprocess(file, "x.png", {}, {.apply_exif_rotation = rotate}, Stage::resized);
    });
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
    EXPECT_THAT(outcome.message,
                testing::StartsWith("x.png: an image of 5000000 × 1 pixels is too long"));
  }
  EXPECT_THAT(
      test::outcome_of([&] { (void)preprocess(file, "x.png", {}, {}, Stage::decoded); }).message,
      testing::HasSubstr("truncated"));
}

TEST(Preprocess, AnImageThatCannotBeResizedIsNamed) {
  const auto outcome = test::outcome_of([] { (void)resize_and_crop({}, "y.png", {}); });
  EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
  EXPECT_THAT(outcome.message, testing::StartsWith("y.png: "));
}

TEST(Preprocess, StagesHaveNames) {
  for (const Stage stage : {Stage::decoded, Stage::resized, Stage::tensor})
    EXPECT_EQ(stage_from_name(name(stage)), stage);
  EXPECT_EQ(test::outcome_of([] { (void)stage_from_name("cropped"); }).kind, ErrorKind::bad_input);
}

TEST(Preprocess, PlanesAndInterleavedAreEachOthersInverse) {
  const std::vector<float> hwc = {1, 2, 3, 4, 5, 6};
  std::vector<float> chw(6);
  std::vector<float> back(6);
  hwc_to_chw(hwc, chw, 2);
  EXPECT_THAT(chw, testing::ElementsAre(1, 4, 2, 5, 3, 6));
  chw_to_hwc(chw, back, 2);
  EXPECT_EQ(back, hwc);
}

}  // namespace
}  // namespace assay::pipeline
