#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/kernels/normalize.h"
#include "backend/kernels_support.h"
#include "backend/kernels_torch.h"

namespace assay::backend::cpu {
namespace {

TEST(NormalizeKernel, HasTheBitsOfToTensorAndNormalize) {
  const std::vector<TorchCase> cases = torch_cases("normalize");
  ASSERT_EQ(cases.size(), 2U);
  for (const TorchCase& golden : cases) {
    ASSERT_EQ(golden.numbers.size(), 6U + 768U);
    const float* const n = golden.numbers.data();
    std::vector<std::uint8_t> rgb(768);
    for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<std::uint8_t>(i / 3);
    Guarded out(768);
    normalize_rgb(rgb.data(), out.data(), 256, rgb_table({n[0], n[1], n[2]}, {n[3], n[4], n[5]}));
    EXPECT_TRUE(out.intact());
    for (std::int64_t i = 0; i < 768; ++i) ASSERT_EQ(out[i], n[6 + i]) << "level " << i / 3;
  }
}

TEST(NormalizeKernel, KeepsTheChannelsApart) {
  const std::vector<std::uint8_t> rgb = {0, 255, 51, 255, 0, 102};
  Guarded out(6);
  normalize_rgb(rgb.data(), out.data(), 2, rgb_table({0, 1, 0}, {1, 2, 4}));
  const std::vector<float> right = {0, 0, 0.05F, 1, -0.5F, 0.1F};
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_FLOAT_EQ(out[i], right[static_cast<std::size_t>(i)]);
  }
}

}  // namespace
}  // namespace assay::backend::cpu
