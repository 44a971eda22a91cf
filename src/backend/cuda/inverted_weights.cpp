#include "backend/cuda/inverted_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "numerics/fp16.h"

namespace assay::backend::cuda {
namespace {

using numerics::Fp16;

constexpr int kLanes = 32;

/// A row-major matrix with zeros all around.
struct Matrix {
  std::span<const float> numbers;
  int rows = 0, columns = 0;

  [[nodiscard]] float at(int row, int column) const {
    if (row >= rows || column >= columns) return 0;
    return numbers[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                   static_cast<std::size_t>(column)];
  }
};

template <typename T>
void put(std::byte* to, int index, T number) {
  std::memcpy(to + static_cast<std::size_t>(index) * sizeof(T), &number, sizeof(T));
}

/// What a lane holds of the second operand, whose columns are rows of `weight`: two pairs of
/// depths, 8 apart.
void put_fragment(std::byte* to, const Matrix& weight, int column, int depth, int lane) {
  for (int pair = 0; pair < 2; ++pair) {
    for (int i = 0; i < 2; ++i) {
      const float number = weight.at(column + lane / 4, depth + pair * 8 + lane % 4 * 2 + i);
      put(to, pair * 2 + i, Fp16::encode(number));
    }
  }
}

void put_group(std::byte* to, const InvertedWeights& w, int group) {
  const GroupLayout layout = group_layout(w.channels, w.out_channels);
  constexpr int kFragmentBytes = 8;
  const Matrix expand{w.expand, w.expanded, w.channels};
  const Matrix depthwise{w.depthwise, w.expanded, kTaps};
  const Matrix project{w.project, w.out_channels, w.expanded};
  const int first = group * kGroupChannels;
  for (int depth = 0; depth < w.channels; depth += 16) {
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int strip = 0; strip < 2; ++strip) {
        put_fragment(to + ((depth / 16 * kLanes + lane) * 2 + strip) * kFragmentBytes, expand,
                     first + strip * 8, depth, lane);
      }
    }
  }
  for (int strip = 0; strip < strips_of(w.out_channels) * 2; ++strip) {
    for (int lane = 0; lane < kLanes; ++lane) {
      put_fragment(
          to + layout.project + ((strip / 2 * kLanes + lane) * 2 + strip % 2) * kFragmentBytes,
          project, strip * 8, first, lane);
    }
  }
  const auto bias = [](std::span<const float> numbers, int channel) {
    const auto index = static_cast<std::size_t>(channel);
    return index < numbers.size() ? numbers[index] : 0.0F;
  };
  for (int i = 0; i < kGroupChannels; ++i) {
    put(to + layout.expand_bias, i, bias(w.expand_bias, first + i));
    put(to + layout.depthwise_bias, i, bias(w.depthwise_bias, first + i));
    for (int tap = 0; tap < kTaps; ++tap) {
      put(to + layout.depthwise, tap * kGroupChannels + i, depthwise.at(first + i, tap));
    }
  }
}

}  // namespace

std::vector<std::byte> pack_inverted(const InvertedWeights& weights) {
  const int groups = (weights.expanded + kGroupChannels - 1) / kGroupChannels;
  const int each = group_layout(weights.channels, weights.out_channels).bytes;
  std::vector<std::byte> packed(static_cast<std::size_t>(groups) * static_cast<std::size_t>(each));
  for (int group = 0; group < groups; ++group) {
    put_group(packed.data() + static_cast<std::ptrdiff_t>(group) * each, weights, group);
  }
  return packed;
}

bool fits_fp16(std::span<const float> numbers) {
  return std::ranges::all_of(
      numbers, [](float number) { return std::isfinite(Fp16::decode(Fp16::encode(number))); });
}

}  // namespace assay::backend::cuda
