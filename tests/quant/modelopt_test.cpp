/// NVFP4 weights against NVIDIA ModelOpt's: tests/golden/make_modelopt_scales.py.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "quant/narrow_weight.h"

namespace assay::quant {
namespace {

std::vector<std::uint8_t> bytes_of(const graph::Constant& constant) {
  std::vector<std::uint8_t> bytes;
  for (const std::byte byte : constant.bytes) bytes.push_back(static_cast<std::uint8_t>(byte));
  return bytes;
}

TEST(ModelOpt, Nvfp4HasItsCodesAndScales) {
  const auto path = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/modelopt_nvfp4.json";
  const Json golden = parse_json(read_text(path, std::uint64_t{1} << 20), "golden");
  const NarrowWeight made =
      narrow_weight(golden["weight"].get<std::vector<float>>(), golden["dims"].get<graph::Dims>(),
                    graph::Precision::nvfp4, {Granularity::block, WeightObserver::max}, "layer");
  EXPECT_EQ(bytes_of(made.codes), golden["codes"].get<std::vector<std::uint8_t>>());
  EXPECT_EQ(bytes_of(*made.scale->constant),
            golden["block_scales"].get<std::vector<std::uint8_t>>());
  EXPECT_FLOAT_EQ(graph::to_f32(*made.tensor_scale->constant)[0],
                  golden["tensor_scale"].get<float>());
}

}  // namespace
}  // namespace assay::quant
