#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "backend/cpu/kernels/transpose.h"
#include "backend/kernels_support.h"

namespace assay::backend::cpu {
namespace {

using TransposeKernel = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, TransposeKernel, testing::ValuesIn(supported_isas()), isa_name);

using Dims = std::vector<std::int64_t>;

/// The permuted copy, index by index.
std::vector<float> permuted(const std::vector<float>& x, const Dims& dims,
                            const std::vector<int>& permutation) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t a = dims.size(); a-- > 0; stride *= dims[a]) strides[a] = stride;
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t source = 0;
    for (std::size_t a = dims.size(); a-- > 0;) {
      const auto p = static_cast<std::size_t>(permutation[a]);
      source += rest % dims[p] * strides[p];
      rest /= dims[p];
    }
    y[i] = x[static_cast<std::size_t>(source)];
  }
  return y;
}

void check(const Dims& dims, const std::vector<int>& permutation, std::int64_t items_a_call) {
  const std::int64_t count =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<float> x(static_cast<std::size_t>(count));
  std::iota(x.begin(), x.end(), 0.0F);
  const std::vector<float> right = permuted(x, dims, permutation);
  const TransposePlan plan = plan_transpose(dims, permutation);
  Guarded y(count);
  const std::int64_t items = transpose_items(plan);
  for (std::int64_t item = 0; item < items; item += items_a_call) {
    transpose(plan, x.data(), y.data(), item, std::min(items, item + items_a_call));
  }
  EXPECT_TRUE(y.intact());
  for (std::size_t i = 0; i < right.size(); ++i) {
    ASSERT_EQ(y[static_cast<std::int64_t>(i)], right[i]) << "number " << i;
  }
}

TEST_P(TransposeKernel, EveryPermutationOfFourAxes) {
  std::vector<int> permutation = {0, 1, 2, 3};
  do {
    check({3, 5, 2, 7}, permutation, 4);
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

TEST_P(TransposeKernel, MatricesOfOddSizes) {
  for (const Dims& dims : {Dims{1, 1}, {65, 130}, {4, 4}, {3, 200}, {131, 3}, {64, 64}}) {
    check(dims, {1, 0}, 1);
  }
}

TEST_P(TransposeKernel, UnfoldsAndFoldsPatches) {
  check({2, 4, 2, 3, 2, 18}, {0, 2, 4, 1, 3, 5}, 7);  // batch, rows, patch, columns, patch, C
  check({2, 2, 2, 4, 3, 18}, {0, 3, 1, 4, 2, 5}, 7);
  check({5, 2, 3, 2, 2, 3}, {5, 3, 1, 4, 2, 0}, 1000);
}

TEST_P(TransposeKernel, AxesOfOneAndScalars) {
  check({1, 6, 1, 5}, {3, 2, 0, 1}, 2);
  check({1}, {0}, 1);
  check({7}, {0}, 1);
}

TEST(TransposePlan, MergesWhatStaysTogether) {
  const Dims dims = {4, 2, 3, 5};
  const std::vector<int> identity = {0, 1, 2, 3};
  EXPECT_EQ(plan_transpose(dims, identity).rank, 1);
  const std::vector<int> halves = {2, 3, 0, 1};
  const TransposePlan plan = plan_transpose(dims, halves);
  EXPECT_EQ(plan.rank, 2);
  EXPECT_EQ(plan.dims[0], 15);
  EXPECT_EQ(plan.dims[1], 8);
}

}  // namespace
}  // namespace assay::backend::cpu
