// libjpeg's headers include nothing: each needs those before it.
// clang-format off
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "image/decoders.h"
#include "image/landing.h"

namespace assay::image {
namespace {

/// A file with more scans than any encoder writes is an attempt to burn time.
constexpr int kMostScans = 500;

/// libjpeg goes on after these and makes up the missing pixels. It warns about harmless things
/// too (stray bytes between segments, an unknown Adobe code), after which the picture is whole.
bool is_damage(int warning) {
  switch (warning) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
      return true;
    default:
      return false;
  }
}

/// libjpeg's defaults are Pillow's: the accurate integer DCT, smooth chroma upsampling, smoothing
/// of unfinished progressive scans. Pillow's wheels carry libjpeg-turbo 3.2, whose bits are those
/// of 2.1 for every kind of file in tests/golden/image. Lossless JPEG, which only 3 reads, is
/// refused.
class JpegReader {
 public:
  explicit JpegReader(DecodeJob& job) : job_(job) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) { self(info).leave(); };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0 && is_damage(info->err->msg_code)) self(info).leave();
    };
    errors_.output_message = [](j_common_ptr) {};
    step([&] { jpeg_create_decompress(&info_); });
    progress_.progress_monitor = [](j_common_ptr info) {
      if (self(info).info_.input_scan_number > kMostScans) self(info).leave("too many scans");
    };
    info_.progress = &progress_;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info_); }

  void read() {
    read_header();
    if (job_.options.apply_exif_rotation) collect_metadata();
    choose_output();
    step([&] { jpeg_start_decompress(&info_); });
    allocate_pixels(job_, info_.output_width, info_.output_height);
    if (info_.out_color_space == JCS_CMYK) {
      read_cmyk();
    } else {
      read_rgb();
    }
    check_every_component_came();
    step([&] { jpeg_finish_decompress(&info_); });
  }

 private:
  static JpegReader& self(j_common_ptr info) {
    return *static_cast<JpegReader*>(info->client_data);
  }

  [[noreturn]] void leave() {
    failure_code_ = errors_.msg_code;
    errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), landing_.message.data());
    landing_.leave();
  }

  [[noreturn]] void leave(const char* reason) {
    std::snprintf(landing_.message.data(), landing_.message.size(), "%s", reason);
    landing_.leave();
  }

  template <typename Step>
  void step(const Step& body) {
    if (attempt(landing_, body)) return;
    const bool other_kind = failure_code_ == JERR_SOF_UNSUPPORTED ||
                            failure_code_ == JERR_BAD_PRECISION ||
                            failure_code_ == JERR_CONVERSION_NOTIMPL;
    fail(other_kind ? ErrorKind::unsupported : ErrorKind::bad_input,
         "{}: the JPEG cannot be {}: {}", job_.what, other_kind ? "read" : "decoded",
         landing_.message.data());
  }

  void read_header() {
    const auto* bytes = reinterpret_cast<const unsigned char*>(job_.file.data());
    step([&] {
      jpeg_mem_src(&info_, bytes, static_cast<unsigned long>(job_.file.size()));
      if (job_.options.apply_exif_rotation) jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
      jpeg_read_header(&info_, TRUE);
    });
    // Before libjpeg allocates its coefficient arrays.
    check_size(job_, info_.image_width, info_.image_height);
  }

  /// PIL goes by the number of components alone, and takes four as Adobe's inverted CMYK.
  void choose_output() {
    switch (info_.num_components) {
      case 1:
      case 3:
        info_.out_color_space = JCS_RGB;
        return;
      case 4:
        info_.out_color_space = JCS_CMYK;
        return;
      default:
        fail(ErrorKind::unsupported, "{}: a JPEG of {} components; 1, 3 and 4 are read", job_.what,
             info_.num_components);
    }
  }

  void read_rgb() {
    std::uint8_t* const pixels = job_.image.pixels.data();
    const std::size_t stride = std::size_t{info_.output_width} * 3;
    step([&] {
      constexpr JDIMENSION kBatch = 16;
      JSAMPROW rows[kBatch];
      while (info_.output_scanline < info_.output_height) {
        const JDIMENSION count = std::min(kBatch, info_.output_height - info_.output_scanline);
        for (JDIMENSION i = 0; i < count; ++i) {
          rows[i] = pixels + (info_.output_scanline + i) * stride;
        }
        jpeg_read_scanlines(&info_, rows, count);
      }
    });
  }

  /// PIL's convert("RGB") of the inverted samples: 255 − k less the ink's share of it, the product
  /// over 255 rounded the way PIL rounds it (libImaging's MULDIV255).
  void read_cmyk() {
    const std::size_t width = info_.output_width;
    std::vector<std::uint8_t> row(width * 4);
    std::uint8_t* const line = row.data();
    while (info_.output_scanline < info_.output_height) {
      std::uint8_t* out = job_.image.pixels.data() + info_.output_scanline * width * 3;
      step([&] {
        JSAMPROW target = line;
        jpeg_read_scanlines(&info_, &target, 1);
      });
      for (std::size_t x = 0; x < width; ++x) {
        const int white = line[x * 4 + 3];
        for (int c = 0; c < 3; ++c) {
          const int product = (255 - line[x * 4 + c]) * white + 128;
          const int share = ((product >> 8) + product) >> 8;
          *out++ = static_cast<std::uint8_t>(std::clamp(white - share, 0, 255));
        }
      }
    }
  }

  /// libjpeg paints a component that no scan carried as grey, without a word.
  void check_every_component_came() const {
    for (int i = 0; i < info_.num_components; ++i) {
      if (info_.comp_info[i].quant_table != nullptr) continue;
      fail(ErrorKind::bad_input, "{}: the JPEG has no data for component {} of {}", job_.what,
           i + 1, info_.num_components);
    }
  }

  void collect_metadata() {
    constexpr std::string_view kExif("Exif\0\0", 6);
    constexpr std::string_view kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
    for (jpeg_saved_marker_ptr marker = info_.marker_list; marker; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (data.starts_with(kExif)) {
        const auto body = std::as_bytes(std::span(data.substr(kExif.size())));
        job_.metadata.exif.insert(job_.metadata.exif.end(), body.begin(), body.end());
      } else if (data.starts_with(kXmp)) {
        job_.metadata.xmp = data.substr(kXmp.size());
      }
    }
  }

  DecodeJob& job_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  Landing landing_{};
  int failure_code_ = 0;
};

}  // namespace

void decode_jpeg(DecodeJob& job) { JpegReader(job).read(); }

}  // namespace assay::image
