#include <png.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "image/decoders.h"
#include "image/landing.h"

namespace assay::image {
namespace {

/// ImageMagick's way to keep EXIF in text: after three line breaks (an empty line, the name, the
/// length), hexadecimal digits over many lines.
std::vector<std::byte> raw_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    if (text.empty()) return {};
  }
  std::vector<std::byte> bytes;
  std::string digits(text);
  std::erase(digits, '\n');
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(&digits[i], &digits[i] + 2, value, 16);
    if (error != std::errc{} || end != &digits[i] + 2) break;
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

class PngReader {
 public:
  explicit PngReader(DecodeJob& job) : job_(job), rest_(job.file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      fail(ErrorKind::out_of_memory, "{}: no memory to decode a PNG", job.what);
    }
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  void read() {
    read_header();
    allocate_pixels(job_, png_get_image_width(png_, info_), png_get_image_height(png_, info_));
    const bool deep_grey = png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY &&
                           png_get_bit_depth(png_, info_) == 16;
    choose_output(deep_grey);
    read_rows();
    if (deep_grey) clip_deep_grey();
    if (job_.options.apply_exif_rotation) collect_metadata();
  }

 private:
  static PngReader& self(png_structp png) {
    return *static_cast<PngReader*>(png_get_error_ptr(png));
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    Landing& landing = self(png).landing_;
    std::snprintf(landing.message.data(), landing.message.size(), "%s", message);
    landing.leave();
  }

  /// libpng's warnings are about chunks that no pixel depends on.
  static void on_warning(png_structp, png_const_charp) {}

  static void on_read(png_structp png, png_bytep out, std::size_t size) {
    Bytes& rest = static_cast<PngReader*>(png_get_io_ptr(png))->rest_;
    if (size > rest.size()) png_error(png, "the file is truncated");
    std::memcpy(out, rest.data(), size);
    rest = rest.subspan(size);
  }

  template <typename Step>
  void step(const Step& body) {
    if (attempt(landing_, body)) return;
    fail(ErrorKind::bad_input, "{}: the PNG cannot be decoded: {}", job_.what,
         landing_.message.data());
  }

  void read_header() {
    step([&] {
      png_set_read_fn(png_, this, on_read);
      png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
      png_set_user_limits(png_, 0x7fff'ffff, 0x7fff'ffff);
      // No ancillary chunk changes what convert("RGB") gives: skip them all, tRNS and gAMA too.
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
      if (job_.options.apply_exif_rotation) {
        constexpr png_byte kMetadata[] = "eXIf\0iTXt\0tEXt\0zTXt";
        png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_AS_DEFAULT, kMetadata, 4);
      }
      png_read_info(png_, info_);
    });
  }

  /// To RGB as PIL does: 16 bits lose their low byte, alpha is dropped and not blended. Only 16-bit
  /// grey is left as it is, because PIL clips it (see clip_deep_grey).
  void choose_output(bool deep_grey) {
    step([&] {
      if (deep_grey) {
        if constexpr (std::endian::native == std::endian::little) png_set_swap(png_);
      } else {
        png_set_palette_to_rgb(png_);
        png_set_strip_16(png_);
        png_set_strip_alpha(png_);
        png_set_gray_to_rgb(png_);
      }
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
  }

  void read_rows() {
    const std::size_t height = static_cast<std::size_t>(job_.image.height);
    const std::size_t stride = static_cast<std::size_t>(job_.image.width) * 3;
    if (png_get_rowbytes(png_, info_) > stride) {
      fail(ErrorKind::internal, "{}: libpng gives {} bytes a row for {} pixels", job_.what,
           png_get_rowbytes(png_, info_), job_.image.width);
    }
    std::vector<png_bytep> rows(height);
    for (std::size_t y = 0; y < height; ++y) rows[y] = job_.image.pixels.data() + y * stride;
    png_bytepp const pointers = rows.data();
    step([&] {
      png_read_image(png_, pointers);
      png_read_end(png_, info_);
    });
  }

  /// PIL opens 16-bit grey as mode I;16, whose conversion to 8 bits clips at 255: it does not
  /// scale.
  void clip_deep_grey() {
    const std::size_t width = static_cast<std::size_t>(job_.image.width);
    for (int y = 0; y < job_.image.height; ++y) {
      std::uint8_t* const row = job_.image.pixels.data() + static_cast<std::size_t>(y) * width * 3;
      for (std::size_t x = width; x-- > 0;) {  // backwards: the row grows from 2 bytes to 3 a pixel
        std::uint16_t sample = 0;
        std::memcpy(&sample, row + x * 2, 2);
        std::memset(row + x * 3, std::min<int>(sample, 255), 3);
      }
    }
  }

  void collect_metadata() {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(png_, info_, &size, &exif) != 0) {
      const auto bytes = std::as_bytes(std::span(exif, size));
      job_.metadata.exif.assign(bytes.begin(), bytes.end());
    }
    png_textp texts = nullptr;
    int count = 0;
    png_get_text(png_, info_, &texts, &count);
    for (const png_text& text : std::span(texts, static_cast<std::size_t>(std::max(count, 0)))) {
      const std::string_view key(text.key);
      const std::string_view value(text.text != nullptr ? text.text : "");
      if (key == "XML:com.adobe.xmp") job_.metadata.xmp = value;
      if (key == "Raw profile type exif" && job_.metadata.exif.empty()) {
        job_.metadata.exif = raw_profile(value);
      }
    }
  }

  DecodeJob& job_;
  Bytes rest_;
  Landing landing_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

void decode_png(DecodeJob& job) { PngReader(job).read(); }

}  // namespace assay::image
