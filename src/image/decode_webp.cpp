#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "image/decoders.h"

namespace assay::image {
namespace {

struct DemuxerDelete {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DemuxerDelete>;

/// The first frame of a file, and its release.
class FirstFrame {
 public:
  explicit FirstFrame(const WebPDemuxer* demuxer)
      : found_(WebPDemuxGetFrame(demuxer, 1, &iterator_) != 0) {}
  FirstFrame(const FirstFrame&) = delete;
  FirstFrame& operator=(const FirstFrame&) = delete;
  ~FirstFrame() { WebPDemuxReleaseIterator(&iterator_); }

  [[nodiscard]] bool complete() const { return found_ && iterator_.complete != 0; }
  [[nodiscard]] const WebPIterator& get() const { return iterator_; }

 private:
  WebPIterator iterator_{};
  bool found_;
};

std::span<const std::byte> chunk(const WebPDemuxer* demuxer, const char* fourcc) {
  WebPChunkIterator iterator{};
  std::span<const std::byte> bytes;
  if (WebPDemuxGetChunk(demuxer, fourcc, 1, &iterator) != 0) {
    bytes = std::as_bytes(std::span(iterator.chunk.bytes, iterator.chunk.size));
  }
  WebPDemuxReleaseChunkIterator(&iterator);  // the bytes are the file's own and stay
  return bytes;
}

/// The frame onto the canvas. PIL shows the frame's colours whatever its alpha says, and black
/// where the first frame of an animation leaves the canvas bare.
void paint(DecodeJob& job, const WebPIterator& frame) {
  const std::size_t stride = static_cast<std::size_t>(job.image.width) * 3;
  const bool covers = frame.width == job.image.width && frame.height == job.image.height;
  if (!covers) std::ranges::fill(job.image.pixels, std::uint8_t{0});
  const std::size_t offset = static_cast<std::size_t>(frame.y_offset) * stride +
                             static_cast<std::size_t>(frame.x_offset) * 3;
  if (frame.x_offset < 0 || frame.y_offset < 0 || frame.x_offset + frame.width > job.image.width ||
      frame.y_offset + frame.height > job.image.height) {
    fail(ErrorKind::bad_input, "{}: the WebP's first frame is larger than its canvas", job.what);
  }
  std::uint8_t* const out = job.image.pixels.data() + offset;
  if (WebPDecodeRGBInto(frame.fragment.bytes, frame.fragment.size, out,
                        job.image.pixels.size() - offset, static_cast<int>(stride)) == nullptr) {
    fail(ErrorKind::bad_input, "{}: the WebP is corrupt", job.what);
  }
}

}  // namespace

void decode_webp(DecodeJob& job) {
  const WebPData data{reinterpret_cast<const std::uint8_t*>(job.file.data()), job.file.size()};
  const Demuxer demuxer(WebPDemux(&data));
  if (demuxer == nullptr) {
    fail(ErrorKind::bad_input, "{}: the WebP is truncated or corrupt", job.what);
  }
  allocate_pixels(job, WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                  WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT));
  const FirstFrame frame(demuxer.get());
  if (!frame.complete()) {
    fail(ErrorKind::bad_input, "{}: the WebP has no complete frame", job.what);
  }
  paint(job, frame.get());
  if (job.options.apply_exif_rotation) {
    const Bytes exif = chunk(demuxer.get(), "EXIF");
    const Bytes xmp = chunk(demuxer.get(), "XMP ");
    job.metadata.exif.assign(exif.begin(), exif.end());
    job.metadata.xmp.assign(reinterpret_cast<const char*>(xmp.data()), xmp.size());
  }
}

}  // namespace assay::image
