#pragma once
/// The room for pictures: decode, resize with Pillow's own arithmetic, crop, and scale to floats.
/// It knows nothing of networks or checkpoints: what a checkpoint asks for arrives as a Transform.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::image {

/// 8-bit RGB, rows top to bottom, no padding: pixels[(y * width + x) * 3 + channel].
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;
};

enum class Interpolation { nearest, box, bilinear, bicubic, lanczos };
enum class CropMode { center, squash, border };

std::string_view name(Interpolation interpolation);
std::string_view name(CropMode mode);
/// timm's names ("bicubic", "center", ...). Throw unsupported, listing the names there are.
Interpolation interpolation_from_name(std::string_view name);
CropMode crop_mode_from_name(std::string_view name);

/// timm's evaluation transform as a value: resize, crop, scale by 1/255, then (x - mean) / std.
/// Source: timm/data/transforms_factory.py, transforms_imagenet_eval.
struct Transform {
  int input_height = 224;
  int input_width = 224;
  Interpolation interpolation = Interpolation::bicubic;
  CropMode crop_mode = CropMode::center;
  double crop_pct = 0.875;
  std::array<double, 3> mean{0.485, 0.456, 0.406};
  std::array<double, 3> std{0.229, 0.224, 0.225};
  bool operator==(const Transform&) const = default;
};

struct DecodeOptions {
  bool apply_exif_rotation = false;
  std::uint64_t max_pixels = 178'956'970;  ///< Pillow's own limit for a decompression bomb's error
};

/// Decodes a JPEG, PNG or WebP file's bytes to what PIL's Image.open(...).convert("RGB") gives.
/// Throws bad_input (truncated, corrupt, too large) or unsupported (another file type), naming
/// `what`.
Image decode(std::span<const std::byte> file, std::string_view what,
             const DecodeOptions& options = {});

/// Resize and crop: what the network's 8-bit input will be, transform.input_height × input_width.
/// Thread-safe. Throws bad_input for an empty image.
Image resize_and_crop(const Image& image, const Transform& transform);

/// `resized` as float32, normalized as torchvision does (ToTensor's division by 255 in fp32, then
/// (x - mean) / std in fp32). HWC order; out.size() == height * width * 3.
void normalize_hwc(const Image& resized, const Transform& transform, std::span<float> out);

}  // namespace assay::image
