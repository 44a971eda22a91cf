#pragma once
/// The room for pictures: decode, resize with Pillow's own arithmetic, crop, and scale to floats.
/// It knows nothing of networks or checkpoints: what a checkpoint asks for arrives as a Transform.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

/// Borrowed 8-bit RGB whose rows start `stride` bytes apart; the last row needs no padding.
struct View {
  std::span<const std::uint8_t> pixels;  ///< at least (height - 1) * stride + width * 3 bytes
  int width = 0;
  int height = 0;
  std::size_t stride = 0;  ///< at least width * 3
};

/// The whole of `image`; `image` must outlive the view.
View view(const Image& image);

enum class Interpolation { nearest, box, bilinear, bicubic, lanczos };
enum class CropMode { center, squash, border };

std::string_view name(Interpolation interpolation);
std::string_view name(CropMode mode);
/// timm's names ("bicubic", "center", ...). Throw unsupported, listing the names there are.
Interpolation interpolation_from_name(std::string_view name);
CropMode crop_mode_from_name(std::string_view name);

/// Pixels a side of a network's input.
inline constexpr int kMaxInputSide = 4096;

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
  /// What the image is decoded for. One whose sides it cannot take is refused by its header's word,
  /// with resize_and_crop()'s error, before any pixel is decoded.
  std::optional<Transform> transform = std::nullopt;
};

/// Decodes a JPEG, PNG or WebP file's bytes to what PIL's Image.open(...).convert("RGB") gives.
/// Throws bad_input (truncated, corrupt, too large) or unsupported (another file type), naming
/// `what`.
Image decode(std::span<const std::byte> file, std::string_view what,
             const DecodeOptions& options = {});

/// The same into `into`, whose memory is used again. After an error `into` holds no image of use.
void decode(std::span<const std::byte> file, std::string_view what, const DecodeOptions& options,
            Image& into);

/// Memory and filter coefficients that resize_and_crop() keeps from one call to the next.
/// For one thread at a time; movable. Coefficients are computed again only when a size changes.
class Workspace {
 public:
  Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  ~Workspace();

  struct State;  ///< of the implementation
  [[nodiscard]] State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Resize and crop: what the network's 8-bit input will be, transform.input_height × input_width.
/// Thread-safe. Throws bad_input for an empty image, for a transform with a size, crop_pct or mean
/// out of range, and where the resized image would have no pixels.
Image resize_and_crop(const Image& image, const Transform& transform);

/// The same into `out`, input_height × input_width × 3 bytes. Once `workspace` has seen images of
/// these sizes with this transform, a call allocates nothing.
void resize_and_crop(const View& image, const Transform& transform, Workspace& workspace,
                     std::span<std::uint8_t> out);

/// The whole image resized to width × height as PIL's Image.resize does; no crop. Thread-safe.
Image resize(const Image& image, int width, int height, Interpolation interpolation);

/// `resized` as float32, normalized as torchvision does (ToTensor's division by 255 in fp32, then
/// (x - mean) / std in fp32). HWC order; out.size() == height * width * 3.
/// Thread-safe. Throws bad_input for a std that is zero in float32, or sizes that do not match.
void normalize_hwc(const Image& resized, const Transform& transform, std::span<float> out);

/// The same numbers in timm's layout: out[(channel * height + y) * width + x].
void normalize_chw(const Image& resized, const Transform& transform, std::span<float> out);

}  // namespace assay::image
