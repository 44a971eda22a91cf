#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "pipeline/classifier.h"

namespace assay::pipeline {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> softmax_of(std::vector<float> logits) {
  softmax(logits, logits);
  return logits;
}

TEST(Softmax, GivesProbabilities) {
  EXPECT_THAT(
      softmax_of({0, std::log(2.0F), std::log(5.0F)}),
      ElementsAre(FloatNear(0.125F, 1e-7F), FloatNear(0.25F, 1e-7F), FloatNear(0.625F, 1e-7F)));
}

TEST(Softmax, StaysFiniteForLargeLogits) {
  EXPECT_THAT(softmax_of({3e38F, 3e38F, -3e38F}), ElementsAre(0.5F, 0.5F, 0));
  EXPECT_THAT(softmax_of({}), ElementsAre());
}

TEST(TopK, IsBestFirstWithTiesByLowerIndex) {
  const std::vector<float> logits = {1, 3, 2, 3, 1};
  EXPECT_THAT(top_k(logits, 4), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(top_k(logits, 1), ElementsAre(1));
}

TEST(TopK, GivesNoMoreThanThereAre) {
  const std::vector<float> logits = {1, 2};
  EXPECT_THAT(top_k(logits, 5), ElementsAre(1, 0));
  EXPECT_THAT(top_k(logits, 0), ElementsAre());
  EXPECT_THAT(top_k(logits, -3), ElementsAre());
  EXPECT_THAT(top_k({}, 3), ElementsAre());
}

TEST(TopK, PutsNanBehindEveryNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {kNan, -infinity, kNan, 1};
  EXPECT_THAT(top_k(logits, 4), ElementsAre(3, 1, 0, 2));
}

}  // namespace
}  // namespace assay::pipeline
