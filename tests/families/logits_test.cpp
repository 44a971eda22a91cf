/// The example checkpoints against timm, through the reference backend.
///
/// Tolerance. timm's answers for the made image are computed in float64; ours round each value to
/// fp32 once (2^-24 relative) and hold sums in double. Logits are of order 10 and come out of some
/// 100 roundings in a row, each of which the next layers pass on at about its own size: 10 × 2^-24
/// × √100 is 6e-6. A wrong epsilon (1e-5 for 1e-6 or back) moves logits by 1e-4 and more here.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/backend.h"
#include "families/families.h"
#include "families/tables.h"
#include "graph/passes.h"

namespace assay::families {
namespace {

constexpr double kTolerance = 2e-5;

struct Case {
  std::string architecture;
  int height;
  int width;
  int optimization_level;
};

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

std::vector<float> golden(const Case& c, const std::string& output) {
  static const checkpoint::Weights answers =
      checkpoint::read_safetensors(source_dir() / "tests/golden/model_logits.safetensors");
  const std::string name = c.architecture + "/" + std::to_string(c.height) + "x" +
                           std::to_string(c.width) + "/" + output;
  const checkpoint::TensorView* view = answers.find(name);
  std::vector<float> numbers(static_cast<std::size_t>(view->elements()));
  convert_to_f32(view->dtype, view->bytes, numbers);
  return numbers;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

class Logits : public testing::TestWithParam<Case> {};

TEST_P(Logits, AreTimms) {
  const Case& c = GetParam();
  const checkpoint::Checkpoint checkpoint =
      checkpoint::open(source_dir() / "examples" / (c.architecture + ".fashion_mnist"));
  auto graph = build({checkpoint.config, checkpoint.weights, c.height, c.width});
  graph::optimize(graph, c.optimization_level);
  backend::LowerOptions options;
  const image::Transform& transform = checkpoint.config.transform;
  for (std::size_t i = 0; i < 3; ++i) {
    options.normalization.mean[i] = static_cast<float>(transform.mean[i]);
    options.normalization.std[i] = static_cast<float>(transform.std[i]);
  }
  const auto plan = backend::lower(std::make_shared<const graph::Graph>(std::move(graph)),
                                   {"reference", 0}, options);

  const std::vector<float> wanted_logits = golden(c, "logits");
  const std::vector<float> wanted_features = golden(c, "features");
  std::vector<float> logits(wanted_logits.size());
  std::vector<float> features(wanted_features.size());
  const std::vector<std::uint8_t> image = made_image(c.height, c.width);
  plan->make_session()->run({image, {}}, 1, {logits, features});
  EXPECT_LT(largest_difference(logits, wanted_logits), kTolerance);
  EXPECT_LT(largest_difference(features, wanted_features), kTolerance);
  RecordProperty("logits", std::to_string(largest_difference(logits, wanted_logits) * 1e9));
  RecordProperty("features", std::to_string(largest_difference(features, wanted_features) * 1e9));
}

INSTANTIATE_TEST_SUITE_P(
    Examples, Logits,
    testing::Values(Case{"crossvit_9_240", 240, 240, 0}, Case{"crossvit_9_240", 240, 240, 1},
                    Case{"mobilevit_xxs", 256, 256, 0}, Case{"mobilevit_xxs", 256, 256, 1},
                    Case{"mobilevit_xs", 256, 256, 1}, Case{"mobilevit_s", 256, 256, 1},
                    Case{"mobilevit_xxs", 200, 232, 0}, Case{"mobilevit_xxs", 96, 160, 1}),
    [](const auto& chosen) {
      return chosen.param.architecture + "_" + std::to_string(chosen.param.height) + "x" +
             std::to_string(chosen.param.width) + "_level_" +
             std::to_string(chosen.param.optimization_level);
    });

}  // namespace
}  // namespace assay::families
