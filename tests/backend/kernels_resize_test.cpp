#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backend/cpu/kernels/resize.h"
#include "backend/kernels_support.h"
#include "backend/kernels_torch.h"

namespace assay::backend::cpu {
namespace {

using graph::ResizeMode;
using ResizeKernel = KernelTest;
INSTANTIATE_TEST_SUITE_P(Isa, ResizeKernel, testing::ValuesIn(supported_isas()), isa_name);

/// A resize of `images` images of made-up numbers.
struct Problem {
  Problem(ResizeMode mode, std::int64_t image_count, std::int64_t in_height, std::int64_t in_width,
          std::int64_t out_height, std::int64_t out_width, std::int64_t channels)
      : images(image_count),
        x(static_cast<std::size_t>(images * in_height * in_width * channels)),
        rows(make_resize_table(mode, in_height, out_height)),
        columns(make_resize_table(mode, in_width, out_width)) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(37 * i % 256) / 64;
    args.x = x.data();
    args.in_height = in_height;
    args.in_width = in_width;
    args.out_height = out_height;
    args.out_width = out_width;
    args.channels = channels;
    args.rows = &rows;
    args.columns = &columns;
  }

  Guarded run(std::int64_t rows_a_call) {
    const std::int64_t total = images * args.out_height;
    Guarded y(total * args.out_width * args.channels);
    Guarded scratch(resize_scratch_floats(args));
    args.y = y.data();
    for (std::int64_t row = 0; row < total; row += rows_a_call) {
      resize(args, row, std::min(total, row + rows_a_call), scratch.data());
    }
    EXPECT_TRUE(y.intact());
    EXPECT_TRUE(scratch.intact());
    return y;
  }

  std::int64_t images;
  std::vector<float> x;
  ResizeTable rows, columns;
  ResizeArgs args;
};

TEST_P(ResizeKernel, GivesWhatTorchGives) {
  // Numbers are below 4 and bicubic weights' absolute values sum to at most 1.4 an axis; 2 + 2 sums
  // of up to 4 products round at most 20 times between the two implementations.
  constexpr double kTolerance = 20 * kEpsilon / 2 * 4 * 1.4 * 1.4;
  int cases = 0;
  for (const TorchCase& golden : torch_cases("resize")) {
    const ResizeMode mode =
        golden.words.at(0) == "bicubic" ? ResizeMode::bicubic : ResizeMode::bilinear;
    const auto number = [&](std::size_t i) { return std::stoll(golden.words.at(i)); };
    Problem problem(mode, 1, number(1), number(2), number(3), number(4), number(5));
    const Guarded y = problem.run(2);
    ASSERT_EQ(y.size(), static_cast<std::int64_t>(golden.numbers.size()));
    for (std::int64_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], golden.numbers[static_cast<std::size_t>(i)], kTolerance)
          << golden.words.at(0) << " case " << cases << " number " << i;
    }
    ++cases;
  }
  EXPECT_EQ(cases, 8);
}

TEST_P(ResizeKernel, AgreesWithItsTablesInDouble) {
  for (const std::int64_t channels : {1, 3, 16, 37}) {
    Problem p(ResizeMode::bicubic, 2, 9, 7, 5, 11, channels);
    const Guarded y = p.run(3);
    std::int64_t i = 0;
    for (std::int64_t row = 0; row < 2 * 5; ++row) {
      for (std::int64_t column = 0; column < 11; ++column) {
        for (std::int64_t c = 0; c < channels; ++c, ++i) {
          double right = 0;
          for (int a = 0; a < 4; ++a) {
            for (int b = 0; b < 4; ++b) {
              const auto r = static_cast<std::size_t>(row % 5 * 4 + a);
              const auto k = static_cast<std::size_t>(column * 4 + b);
              const auto place =
                  ((row / 5 * 9 + p.rows.index[r]) * 7 + p.columns.index[k]) * channels + c;
              right += static_cast<double>(p.rows.weight[r]) * p.columns.weight[k] *
                       p.x[static_cast<std::size_t>(place)];
            }
          }
          ASSERT_NEAR(y[i], right, 10 * kEpsilon / 2 * 4 * 1.4 * 1.4) << "number " << i;
        }
      }
    }
  }
}

TEST_P(ResizeKernel, TheSameSizeIsACopy) {
  for (const ResizeMode mode : {ResizeMode::bilinear, ResizeMode::bicubic}) {
    Problem p(mode, 1, 6, 5, 6, 5, 3);
    const Guarded y = p.run(6);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i], p.x[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(ResizeTable, StaysInsideAndSumsToOne) {
  for (const ResizeMode mode : {ResizeMode::bilinear, ResizeMode::bicubic}) {
    for (const auto& [in, out] : {std::pair{1, 9}, {9, 1}, {240, 224}, {7, 8}, {2, 1000}}) {
      const ResizeTable table = make_resize_table(mode, in, out);
      for (int i = 0; i < out; ++i) {
        double sum = 0;
        for (int t = 0; t < table.taps; ++t) {
          const auto at = static_cast<std::size_t>(i * table.taps + t);
          EXPECT_GE(table.index[at], 0);
          EXPECT_LT(table.index[at], in);
          sum += table.weight[at];
        }
        // Four weights, each of four operations on numbers up to 6.
        EXPECT_NEAR(sum, 1, 4 * 4 * 6 * kEpsilon / 2);
      }
    }
  }
}

}  // namespace
}  // namespace assay::backend::cpu
