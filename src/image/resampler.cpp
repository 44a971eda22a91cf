#include "image/resampler.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace assay::image {
namespace {

constexpr std::size_t kRows = kRowsAtOnce;

using RowPointers = std::array<std::uint8_t*, kRows>;

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

const std::uint8_t* row_of(const View& image, std::int64_t row) {
  return image.pixels.data() + size_of(row) * image.stride;
}

std::uint8_t* row_of(const Target& target, std::int64_t row) {
  return target.pixels + size_of(row) * target.stride;
}

/// Bytes that the kernel may write for `columns` pixels.
std::size_t padded_row(std::int64_t columns) {
  return (size_of(columns) + kOutputsAtOnce) * 3 + kRowSlack;
}

void copy(const View& image, const Window& window, const Target& target) {
  for (std::int64_t y = 0; y < window.rows; ++y) {
    std::memcpy(row_of(target, y), row_of(image, window.top + y) + window.left * 3,
                size_of(window.columns) * 3);
  }
}

}  // namespace

bool is_vertical_first(const View& image, const Window& window) {
  return window.height < image.height &&
         image.height - window.height > 2 * (image.width - window.width);
}

void Resampler::run(const View& image, const Window& window, Interpolation interpolation,
                    const Target& target) {
  const bool x = window.width != image.width;
  const bool y = window.height != image.height;
  if (!x && !y) return copy(image, window, target);
  if (interpolation == Interpolation::nearest) return nearest(image, window, target);
  if (x) {
    row_taps_.prepare({image.width, window.width, window.left, window.columns, interpolation});
    spare_.resize(std::max(spare_.size(), kRows * padded_row(window.columns)));
  }
  if (y) {
    column_taps_.prepare({image.height, window.height, window.top, window.rows, interpolation});
    pointers_.reserve(size_of(column_taps_.max_size()) + 1);
  }
  if (!y) return along_x(image, window, target);
  if (!x) return along_y(image, window, target);
  if (is_vertical_first(image, window)) return along_y_then_x(image, window, target);
  return along_x_then_y(image, window, target);
}

void Resampler::nearest(const View& image, const Window& window, const Target& target) {
  nearest_indices({image.width, window.width, window.left, window.columns, Interpolation::nearest},
                  nearest_x_);
  nearest_indices({image.height, window.height, window.top, window.rows, Interpolation::nearest},
                  nearest_y_);
  for (std::int64_t y = 0; y < window.rows; ++y) {
    std::uint8_t* out = row_of(target, y);
    const std::int64_t from = nearest_y_[size_of(y)];
    for (const std::int64_t x : nearest_x_) {
      if (from < 0 || x < 0) {
        std::memset(out, 0, 3);
      } else {
        std::memcpy(out, row_of(image, from) + x * 3, 3);
      }
      out += 3;
    }
  }
}

std::size_t Resampler::reserve_staging() {
  const std::size_t bytes = (row_taps_.input_end() - row_taps_.input_begin()) * 3;
  const std::size_t pitch = std::max(bytes, row_taps_.reach());
  staging_.resize(std::max(staging_.size(), kRows * pitch));
  return pitch;
}

const std::uint8_t* Resampler::readable_row(const View& image, std::int64_t row,
                                            std::uint8_t* staged) const {
  const std::size_t begin = size_of(row) * image.stride + row_taps_.input_begin() * 3;
  const std::uint8_t* const data = image.pixels.data() + begin;
  if (image.pixels.size() - begin >= row_taps_.reach()) return data;
  std::memcpy(staged, data, (row_taps_.input_end() - row_taps_.input_begin()) * 3);
  return staged;
}

void Resampler::filter_image_rows(const View& image, std::int64_t row, std::int64_t count,
                                  std::uint8_t* const* out) {
  const std::size_t pitch = reserve_staging();
  std::array<const std::uint8_t*, kRows> in{};
  RowPointers to{};
  for (std::size_t i = 0; i < kRows; ++i) {
    const bool wanted = static_cast<std::int64_t>(i) < count;
    in[i] = wanted ? readable_row(image, row + static_cast<std::int64_t>(i),
                                  staging_.data() + i * pitch)
                   : in[0];
    to[i] = wanted ? out[i] : spare_.data() + i * (spare_.size() / kRows);
  }
  filter_along_rows(row_taps_.weights(), in.data(), to.data());
}

template <typename RowAt>
void Resampler::weigh_rows(std::int64_t i, const RowAt& row_at, std::size_t bytes,
                           std::uint8_t* out) {
  pointers_.clear();
  for (std::int64_t r = column_taps_.first_input(i); r < column_taps_.end_input(i); ++r) {
    pointers_.push_back(row_at(r));
  }
  if (pointers_.size() % 2 != 0) pointers_.push_back(pointers_.back());
  filter_across_rows(column_taps_.packed(i), column_taps_.pairs(i), pointers_.data(), bytes, out);
}

void Resampler::along_y(const View& image, const Window& window, const Target& target) {
  const auto source = [&](std::int64_t row) { return row_of(image, row) + window.left * 3; };
  for (std::int64_t y = 0; y < window.rows; ++y) {
    weigh_rows(y, source, size_of(window.columns) * 3, row_of(target, y));
  }
}

void Resampler::along_x(const View& image, const Window& window, const Target& target) {
  RowPointers out{};
  const std::size_t pitch = spare_.size() / kRows;
  for (std::size_t i = 0; i < kRows; ++i) out[i] = spare_.data() + i * pitch;
  for (std::int64_t y = 0; y < window.rows; y += kRowsAtOnce) {
    const std::int64_t count = std::min<std::int64_t>(kRowsAtOnce, window.rows - y);
    filter_image_rows(image, window.top + y, count, out.data());
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(row_of(target, y + i), out[size_of(i)], size_of(window.columns) * 3);
    }
  }
}

void Resampler::along_x_then_y(const View& image, const Window& window, const Target& target) {
  const std::size_t pitch = padded_row(window.columns);
  const std::int64_t capacity = column_taps_.max_size() + kRowsAtOnce;
  ring_.resize(std::max(ring_.size(), size_of(capacity) * pitch));
  const auto slot = [&](std::int64_t row) {
    return ring_.data() + size_of(row % capacity) * pitch;
  };
  std::int64_t next = column_taps_.input_begin();
  for (std::int64_t y = 0; y < window.rows; ++y) {
    while (next < column_taps_.end_input(y)) {
      const auto count = std::min<std::int64_t>(kRowsAtOnce, column_taps_.input_end() - next);
      RowPointers out{};
      for (std::int64_t i = 0; i < count; ++i) out[size_of(i)] = slot(next + i);
      filter_image_rows(image, next, count, out.data());
      next += count;
    }
    weigh_rows(y, slot, size_of(window.columns) * 3, row_of(target, y));
  }
}

void Resampler::along_y_then_x(const View& image, const Window& window, const Target& target) {
  const std::size_t begin = row_taps_.input_begin() * 3;
  const std::size_t bytes = row_taps_.input_end() * 3 - begin;
  const std::size_t pitch = reserve_staging();
  const auto source = [&](std::int64_t row) { return row_of(image, row) + begin; };
  std::array<const std::uint8_t*, kRows> in{};
  RowPointers out{};
  for (std::size_t i = 0; i < kRows; ++i) {
    in[i] = staging_.data() + i * pitch;
    out[i] = spare_.data() + i * (spare_.size() / kRows);
  }
  for (std::int64_t y = 0; y < window.rows; y += kRowsAtOnce) {
    const std::int64_t count = std::min<std::int64_t>(kRowsAtOnce, window.rows - y);
    for (std::int64_t i = 0; i < count; ++i) {
      weigh_rows(y + i, source, bytes, staging_.data() + size_of(i) * pitch);
    }
    filter_along_rows(row_taps_.weights(), in.data(), out.data());
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(row_of(target, y + i), out[size_of(i)], size_of(window.columns) * 3);
    }
  }
}

}  // namespace assay::image
