#include "cli/sample_image.h"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

// libjpeg's header needs the names of <cstdio> and includes nothing itself.
#include <jpeglib.h>

#include "base/error.h"

namespace assay::cli {
namespace {

constexpr int kPhotoWidth = 500;
constexpr int kPhotoHeight = 375;
constexpr int kQuality = 90;
constexpr int kWaves = 24;

double uniform(std::mt19937& random) { return static_cast<double>(random()) / 4294967296.0; }

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

/// Waves of random direction whose amplitude falls with their frequency, as a photo's spectrum
/// does, and grain over them.
image::Image make_photo(std::mt19937& random) {
  struct Wave {
    double x, y, phase, amplitude;
  };
  image::Image photo{kPhotoWidth, kPhotoHeight, {}};
  photo.pixels.resize(std::size_t{3} * kPhotoWidth * kPhotoHeight);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    std::vector<Wave> waves;
    for (int i = 1; i <= kWaves; ++i) {
      const double frequency = 0.005 * i * i;
      const double angle = 6.2831853 * uniform(random);
      waves.push_back({frequency * std::cos(angle), frequency * std::sin(angle),
                       6.2831853 * uniform(random), 60.0 / i});
    }
    for (int y = 0; y < kPhotoHeight; ++y) {
      for (int x = 0; x < kPhotoWidth; ++x) {
        double value = 128 + 12 * (uniform(random) - 0.5);
        for (const Wave& wave : waves) {
          value += wave.amplitude * std::sin(wave.x * x + wave.y * y + wave.phase);
        }
        photo.pixels[3 * static_cast<std::size_t>(y * kPhotoWidth + x) + channel] = to_byte(value);
      }
    }
  }
  return photo;
}

/// libjpeg reports errors by a call that must not return.
struct JumpingErrors {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
};

[[noreturn]] void jump_out(j_common_ptr state) {
  std::longjmp(reinterpret_cast<JumpingErrors*>(state->err)->jump, 1);
}

/// False where libjpeg failed. No object with a destructor lives here, for the jump skips them.
bool compress(const image::Image& image, unsigned char** memory, unsigned long* size) {
  JumpingErrors errors;
  jpeg_compress_struct jpeg;
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jump_out;
  if (setjmp(errors.jump) != 0) {
    jpeg_destroy_compress(&jpeg);
    return false;
  }
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, memory, size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, kQuality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    const std::size_t row = std::size_t{jpeg.next_scanline} * jpeg.image_width * 3;
    JSAMPROW pixels = const_cast<JSAMPROW>(image.pixels.data() + row);
    jpeg_write_scanlines(&jpeg, &pixels, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  return true;
}

}  // namespace

image::Image random_image(int width, int height, std::uint32_t seed) {
  std::mt19937 random(seed);
  image::Image image{width, height, {}};
  image.pixels.resize(std::size_t{3} * static_cast<std::size_t>(width) *
                      static_cast<std::size_t>(height));
  for (std::uint8_t& byte : image.pixels) byte = static_cast<std::uint8_t>(random() >> 24);
  return image;
}

std::vector<std::byte> sample_photo(std::uint32_t seed) {
  std::mt19937 random(seed);
  const image::Image photo = make_photo(random);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  const bool made = compress(photo, &memory, &size);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owner(memory, &std::free);
  if (!made) fail(ErrorKind::internal, "the sample photo could not be made");
  const auto* const bytes = reinterpret_cast<const std::byte*>(memory);
  return {bytes, bytes + size};
}

}  // namespace assay::cli
