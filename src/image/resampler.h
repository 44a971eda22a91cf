#pragma once
/// PIL's Image.resize of which only a window is computed.
#include "image/packed_taps.h"

namespace assay::image {

/// A resize of a whole image to width × height, and the part of the result that is wanted.
struct Window {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t left = 0;
  std::int64_t top = 0;
  std::int64_t columns = 0;  ///< wanted; left + columns <= width
  std::int64_t rows = 0;
};

/// Where the wanted pixels go: rows of RGB, `stride` bytes apart.
struct Target {
  std::uint8_t* pixels = nullptr;
  std::size_t stride = 0;
};

/// Does resizes one after another with memory that it keeps. For one thread at a time.
///
/// The passes are PIL's: along x into 8 bits, then along y, each only where its size changes. They
/// are fused: rows filtered along x stay in a ring no longer than the vertical filter, and columns
/// and rows that the window does not need are never computed.
class Resampler {
 public:
  /// `image` has at least one pixel. Throws bad_input for sides too long to filter.
  void run(const View& image, const Window& window, Interpolation interpolation,
           const Target& target);

 private:
  void nearest(const View& image, const Window& window, const Target& target);
  void along_x_then_y(const View& image, const Window& window, const Target& target);
  void along_y_then_x(const View& image, const Window& window, const Target& target);
  void along_x(const View& image, const Window& window, const Target& target);
  void along_y(const View& image, const Window& window, const Target& target);

  /// Filters image rows [row, row + count) along x, count ≤ kRowsAtOnce, into out[0…count).
  void filter_image_rows(const View& image, std::int64_t row, std::int64_t count,
                         std::uint8_t* const* out);
  /// Makes room for kRowsAtOnce rows of the columns that filtering needs; bytes from row to row.
  std::size_t reserve_staging();
  /// The input row from the column where filtering begins, safe to read up to the filter's reach:
  /// the image's own memory, or `staged` with a copy where the image ends before.
  const std::uint8_t* readable_row(const View& image, std::int64_t row, std::uint8_t* staged) const;
  /// Weighs rows from row_at(first input), row_at(first + 1), … into output row i.
  template <typename RowAt>
  void weigh_rows(std::int64_t i, const RowAt& row_at, std::size_t bytes, std::uint8_t* out);

  RowTaps row_taps_;
  ColumnTaps column_taps_;
  std::vector<std::uint8_t> ring_;     ///< rows filtered along x
  std::vector<std::uint8_t> staging_;  ///< kRowsAtOnce input rows that had to be copied or made
  std::vector<std::uint8_t> spare_;    ///< kRowsAtOnce output rows
  std::vector<const std::uint8_t*> pointers_;
  std::vector<std::int64_t> nearest_x_;
  std::vector<std::int64_t> nearest_y_;
};

/// Whether PIL makes the vertical pass first. Pillow up to 12 never does; since 13 it does where
/// the rows that shrinking removes outnumber the columns two to one (found by experiment; it can
/// change the last bit). Photographs of usual shapes go along x first in all versions.
bool is_vertical_first(const View& image, const Window& window);

}  // namespace assay::image
