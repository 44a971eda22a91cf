#include <algorithm>

#include "base/error.h"
#include "image/geometry.h"
#include "image/resampler.h"

namespace assay::image {

struct Workspace::State {
  Resampler resampler;
};

Workspace::Workspace() : state_(std::make_unique<State>()) {}
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

namespace {

constexpr std::uint64_t kMostOutputPixels = 178'956'970;

void check(const View& image) {
  const auto width = static_cast<std::size_t>(std::max(image.width, 0));
  const auto height = static_cast<std::size_t>(std::max(image.height, 0));
  if (width == 0 || height == 0) {
    fail(ErrorKind::bad_input, "an image of {} × {} pixels is empty", image.width, image.height);
  }
  const std::size_t size = image.pixels.size();
  const bool fits = image.stride >= width * 3 && size >= width * 3 &&
                    (height == 1 || image.stride <= (size - width * 3) / (height - 1));
  if (!fits) {
    fail(ErrorKind::bad_input,
         "{} bytes in rows of {} do not hold an image of {} × {} pixels of 3 bytes", size,
         image.stride, image.width, image.height);
  }
}

std::size_t output_bytes(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1 ||
      static_cast<std::uint64_t>(height) > kMostOutputPixels / static_cast<std::uint64_t>(width)) {
    fail(ErrorKind::bad_input, "an output of {} × {} pixels is out of range", width, height);
  }
  return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3;
}

void fill(std::span<std::uint8_t> out, const std::array<std::uint8_t, 3>& colour) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = colour[i % 3];
}

}  // namespace

View view(const Image& image) {
  return {.pixels = image.pixels,
          .width = image.width,
          .height = image.height,
          .stride = static_cast<std::size_t>(std::max(image.width, 0)) * 3};
}

void resize_and_crop(const View& image, const Transform& transform, Workspace& workspace,
                     std::span<std::uint8_t> out) {
  check(image);
  const Placement placement = place(image.width, image.height, transform);
  const std::size_t bytes = output_bytes(transform.input_width, transform.input_height);
  if (out.size() != bytes) {
    fail(ErrorKind::bad_input, "an output of {} bytes for {} × {} pixels of 3 bytes", out.size(),
         transform.input_height, transform.input_width);
  }
  // The part of the window that the resized image covers; the rest is padding.
  const std::int64_t left = std::max<std::int64_t>(placement.left, 0);
  const std::int64_t top = std::max<std::int64_t>(placement.top, 0);
  const std::int64_t right =
      std::min(placement.left + transform.input_width, placement.resized_width);
  const std::int64_t bottom =
      std::min(placement.top + transform.input_height, placement.resized_height);
  const Window window{
      placement.resized_width, placement.resized_height, left, top, right - left, bottom - top};
  if (window.columns < transform.input_width || window.rows < transform.input_height) {
    fill(out, placement.fill);
  }
  const std::size_t stride = static_cast<std::size_t>(transform.input_width) * 3;
  const std::size_t offset = static_cast<std::size_t>(top - placement.top) * stride +
                             static_cast<std::size_t>(left - placement.left) * 3;
  workspace.state().resampler.run(image, window, transform.interpolation,
                                  {out.data() + offset, stride});
}

Image resize_and_crop(const Image& image, const Transform& transform) {
  Image out{.width = transform.input_width, .height = transform.input_height, .pixels = {}};
  check(view(image));
  place(image.width, image.height, transform);  // refuses what must not reach the allocation
  out.pixels.resize(output_bytes(out.width, out.height));
  Workspace workspace;
  resize_and_crop(view(image), transform, workspace, out.pixels);
  return out;
}

Image resize(const Image& image, int width, int height, Interpolation interpolation) {
  check(view(image));
  Image out{.width = width, .height = height, .pixels = {}};
  out.pixels.resize(output_bytes(width, height));
  Resampler resampler;
  resampler.run(view(image), {width, height, 0, 0, width, height}, interpolation,
                {out.pixels.data(), static_cast<std::size_t>(width) * 3});
  return out;
}

}  // namespace assay::image
