#pragma once
/// Numbers in the device's memory: their formats, and how they lie. Host and device code include
/// this.
#include <cstddef>
#include <cstdint>

namespace assay::backend::cuda {

/// How numbers lie in memory.
enum class Store : std::int32_t { f16, bf16, f32, e4m3, u8 };

constexpr int bytes_of(Store store) {
  return store == Store::f32 ? 4 : store == Store::f16 || store == Store::bf16 ? 2 : 1;
}

/// Rows of numbers, image after image. Columns lie next to each other.
struct View {
  void* data = nullptr;           ///< row 0 of image 0
  std::int64_t image_stride = 0;  ///< in numbers; 0: every image reads the same rows
  std::int32_t row_stride = 0;    ///< in numbers
  Store store = Store::f16;
  float scale = 1.0F;  ///< at e4m3: number = scale × code
};

enum class Act : std::int32_t { none, gelu, silu };

struct Window {  ///< how a convolution looks at its image
  std::int32_t in_height = 0, in_width = 0, channels = 0;
  std::int32_t out_width = 0;
  std::int32_t kernel_height = 0, kernel_width = 0;
  std::int32_t stride_y = 1, stride_x = 1, pad_y = 0, pad_x = 0, dilation_y = 1, dilation_x = 1;
};

}  // namespace assay::backend::cuda
