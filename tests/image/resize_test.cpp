#include "assay/error.h"
#include "golden.h"

namespace assay::image {
namespace {

TEST(Resize, IsWhatPillowGives) {
  int cases = 0;
  for (const Json& entry : golden("resize.json")) {
    const Image from = noise(entry["from"][0], entry["from"][1]);
    const Interpolation interpolation =
        interpolation_from_name(entry["interpolation"].get<std::string>());
    const Image image = resize(from, entry["width"], entry["height"], interpolation);
    EXPECT_TRUE(matches(image, entry)) << entry.dump();
    ++cases;
  }
  EXPECT_GT(cases, 500);
}

TEST(Resize, RefusesEmptyImagesAndSizes) {
  EXPECT_THROW(resize({}, 3, 3, Interpolation::box), Error);
  EXPECT_THROW(resize(noise(3, 3), 0, 3, Interpolation::box), Error);
  EXPECT_THROW(resize(noise(3, 3), 3, -1, Interpolation::box), Error);
  EXPECT_THROW(resize({.width = 4, .height = 4, .pixels = {1, 2, 3}}, 3, 3, Interpolation::box),
               Error);
}

}  // namespace
}  // namespace assay::image
