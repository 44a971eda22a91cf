// The recipe fp8-vit-max has the scales of NVIDIA ModelOpt's default FP8 configuration:
// tests/golden/make_modelopt_scales.py.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "bundle/bundle.h"
#include "checkpoint/checkpoint.h"
#include "graph/serialize.h"
#include "quant/observe.h"
#include "quant/quantize.h"

namespace assay {
namespace {

constexpr std::int64_t kSide = 256;

/// The script's image.
std::vector<float> image(std::int64_t index) {
  std::vector<float> numbers;
  numbers.reserve(static_cast<std::size_t>(kSide * kSide * 3));
  for (std::int64_t y = 0; y < kSide; ++y) {
    for (std::int64_t x = 0; x < kSide; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const std::int64_t code =
            (x * (index + 3) + y * (2 * index + 5) + c * 71 + (x * y) / 37) % 256;
        numbers.push_back(static_cast<float>(code) / 127.5F - 1);
      }
    }
  }
  return numbers;
}

TEST(ModelOptSlow, Fp8VitMaxHasItsScales) {
  const std::filesystem::path source(ASSAY_SOURCE_DIR);
  const Json golden = parse_json(
      read_text(source / "tests/golden/modelopt_fp8_scales.json", std::uint64_t{1} << 20),
      "golden");
  const auto wide =
      bundle::build(checkpoint::open(source / "examples/mobilevit_xxs.fashion_mnist"), {}).graph;
  quant::Observation seen(wide, {"max"});
  const auto images = golden["images"].get<std::int64_t>();
  for (std::int64_t i = 0; i < images; ++i) seen.observe(image(i));
  const quant::Calibration calibration{
      wide->name, graph::fingerprint(*wide), {{"max"}, 4, 1, 0, 0}, seen.operands()};
  const graph::Graph narrow =
      quant::quantize(*wide, quant::find_recipe("fp8-vit-max"), &calibration).graph;
  std::size_t compared = 0;
  for (const graph::Node& node : narrow.nodes) {
    if (node.precision != graph::Precision::fp8) continue;
    ASSERT_TRUE(golden["scales"].contains(node.name)) << node.name;
    const Json& scales = golden["scales"][node.name];
    const graph::Value& weight = narrow.value(node.inputs[graph::kWeightScaleInput]);
    const double expected = scales["weight"].get<double>();
    EXPECT_NEAR(graph::to_f32(*weight.constant)[0], expected, 1e-7 * expected) << node.name;
    // Theirs saw what PyTorch computes in fp32, ours what this backend does.
    const double input = scales["input"].get<double>();
    EXPECT_NEAR(node.input_scales[0], input, 1e-4 * input) << node.name;
    ++compared;
  }
  EXPECT_EQ(compared, golden["scales"].size());
}

}  // namespace
}  // namespace assay
