#pragma once
/// What the tests of the CPU kernels share: a fixture run on every instruction set of the machine,
/// made-up numbers, and memory that notices a write beyond its end.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/isa.h"

namespace assay::backend::cpu {

/// The distance from 1 to the next fp32 number; a rounded operation errs by half of it, relatively.
inline constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Runs each test on every instruction set that the machine supports.
class KernelTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    before_ = active_isa();
    use_isa(GetParam());
  }
  void TearDown() override { use_isa(before_); }

 private:
  Isa before_ = Isa::portable;
};

inline std::string isa_name(const testing::TestParamInfo<Isa>& isa) {
  return std::string(name(isa.param));
}

inline std::vector<float> random_floats(std::int64_t count, unsigned seed, float low = -1.0F,
                                        float high = 1.0F) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = uniform(generator);
  return numbers;
}

/// `count` floats of NaN between two strips of a known number. A kernel that leaves one of the
/// floats unwritten shows as NaN, and one that writes beyond them as not intact().
class Guarded {
 public:
  explicit Guarded(std::int64_t count)
      : memory_(static_cast<std::size_t>(count + 2 * kStrip), kNan), count_(count) {
    for (std::int64_t i = 0; i < kStrip; ++i) {
      memory_[static_cast<std::size_t>(i)] = kMark;
      memory_[static_cast<std::size_t>(kStrip + count + i)] = kMark;
    }
  }
  explicit Guarded(const std::vector<float>& numbers)
      : Guarded(static_cast<std::int64_t>(numbers.size())) {
    std::copy(numbers.begin(), numbers.end(), data());
  }

  float* data() { return memory_.data() + kStrip; }
  float operator[](std::int64_t i) const { return memory_[static_cast<std::size_t>(kStrip + i)]; }
  [[nodiscard]] std::int64_t size() const { return count_; }
  [[nodiscard]] bool intact() const {
    for (std::int64_t i = 0; i < kStrip; ++i) {
      if ((*this)[i - kStrip] != kMark || (*this)[count_ + i] != kMark) return false;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kStrip = 64;
  static constexpr float kMark = -12345.0F;
  std::vector<float> memory_;
  std::int64_t count_;
};

}  // namespace assay::backend::cpu
