#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <random>

#include "image/packed_taps.h"
#include "image/resample_portable.h"

namespace assay::image {
namespace {

/// Runs `body` with each instruction set that this machine and this build have.
template <typename Body>
void on_every_target(const Body& body) {
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t left = supported; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::GetChosenTarget().Update(target);
    body(hwy::TargetName(target));
  }
  hwy::GetChosenTarget().Update(supported);
}

std::vector<std::uint8_t> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (auto& byte : bytes) {
    const auto value = random();
    byte = value % 4 == 0 ? std::uint8_t{255} : static_cast<std::uint8_t>(value >> 8);
  }
  return bytes;
}

/// Sizes that leave every kind of rest: outputs, taps and row lengths around the vector sizes.
const Axis kAxes[] = {
    {1, 9, 0, 9, Interpolation::bicubic},     {500, 341, 58, 224, Interpolation::bicubic},
    {17, 5, 1, 3, Interpolation::lanczos},    {900, 7, 0, 7, Interpolation::lanczos},
    {40, 41, 0, 41, Interpolation::bilinear}, {64, 300, 100, 57, Interpolation::lanczos},
    {31, 30, 29, 1, Interpolation::box},
};

TEST(ResampleKernels, FilterAlongRowsAgreesOnEveryTarget) {
  for (const Axis& axis : kAxes) {
    RowTaps taps;
    taps.prepare(axis);
    const RowWeights weights = taps.weights();
    const std::size_t room = weights.outputs * 3 + kRowSlack;
    std::vector<std::vector<std::uint8_t>> rows;
    std::array<const std::uint8_t*, kRowsAtOnce> in{};
    for (unsigned i = 0; i < kRowsAtOnce; ++i) rows.push_back(random_bytes(taps.reach(), i));
    for (std::size_t i = 0; i < kRowsAtOnce; ++i) in.at(i) = rows[i].data();
    const auto filtered = [&](auto filter) {
      std::vector<std::uint8_t> all(room * kRowsAtOnce);
      std::array<std::uint8_t*, kRowsAtOnce> out{};
      for (std::size_t i = 0; i < kRowsAtOnce; ++i) out.at(i) = all.data() + i * room;
      filter(weights, in.data(), out.data());
      std::vector<std::uint8_t> exact;  // without the slack, which may hold anything
      for (const std::uint8_t* row : out) exact.insert(exact.end(), row, row + axis.count * 3);
      return exact;
    };
    const auto expected = filtered(portable::filter_along_rows);
    on_every_target([&](const char* target) {
      EXPECT_EQ(filtered(filter_along_rows), expected) << target << " " << axis.in;
    });
  }
}

TEST(ResampleKernels, FilterAcrossRowsAgreesOnEveryTarget) {
  for (const Axis& axis : kAxes) {
    ColumnTaps taps;
    taps.prepare(axis);
    for (const std::size_t bytes : {1, 3, 63, 64, 65, 96, 131, 672}) {
      const std::vector<std::uint8_t> image =
          random_bytes(static_cast<std::size_t>(axis.in) * bytes, 7);
      for (const std::int64_t i : {std::int64_t{0}, axis.count / 2, axis.count - 1}) {
        std::vector<const std::uint8_t*> in;
        for (std::int64_t row = taps.first_input(i); row < taps.end_input(i); ++row) {
          in.push_back(image.data() + static_cast<std::size_t>(row) * bytes);
        }
        if (in.size() % 2 != 0) in.push_back(in.back());
        std::vector<std::uint8_t> expected(bytes);
        portable::filter_across_rows(taps.packed(i), taps.pairs(i), in.data(), bytes,
                                     expected.data());
        on_every_target([&](const char* target) {
          std::vector<std::uint8_t> out(bytes);
          filter_across_rows(taps.packed(i), taps.pairs(i), in.data(), bytes, out.data());
          EXPECT_EQ(out, expected) << target << " " << axis.in << " rows of " << bytes;
        });
      }
    }
  }
}

TEST(Taps, SumToOne) {
  for (const Axis& axis : kAxes) {
    Taps taps;
    taps.compute(axis);
    for (std::int64_t i = 0; i < taps.count(); ++i) {
      std::int64_t sum = 0;
      for (const std::int32_t weight : taps.weights(i)) sum += weight;
      EXPECT_NEAR(static_cast<double>(sum), 1 << kWeightBits,
                  static_cast<double>(taps.weights(i).size()));
    }
  }
}

}  // namespace
}  // namespace assay::image
