#include "pipeline/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "base/error.h"

namespace assay::pipeline {
namespace {

constexpr std::size_t kMaxPiece = std::size_t{1} << 30;  // zlib counts in 32 bits
constexpr int kGzipOnly = 16 + MAX_WBITS;

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

}  // namespace

bool is_gzip(std::span<const std::byte> file) {
  return file.size() >= 2 && file[0] == std::byte{0x1f} && file[1] == std::byte{0x8b};
}

std::vector<std::byte> gunzip(std::span<const std::byte> file, std::uint64_t limit,
                              std::string_view what) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, EndInflate> end(&stream);
  std::vector<std::byte> content;
  std::array<std::byte, 1 << 16> buffer;
  int status = Z_OK;
  do {
    const auto piece = file.first(std::min(file.size(), kMaxPiece));
    // zlib's interface is not const-correct; it does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = buffer.size();
    if (status == Z_STREAM_END) inflateReset(&stream);
    status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_BUF_ERROR) fail(ErrorKind::corrupt, "{}: truncated gzip file", what);
    if (status != Z_OK && status != Z_STREAM_END)
      fail(ErrorKind::corrupt, "{}: damaged gzip file ({})", what,
           stream.msg != nullptr ? stream.msg : "not gzip");
    file = file.subspan(piece.size() - stream.avail_in);
    const std::size_t made = buffer.size() - stream.avail_out;
    if (made > limit - content.size())
      fail(ErrorKind::bad_input, "{}: more than {} bytes when unpacked", what, limit);
    content.insert(content.end(), buffer.begin(),
                   buffer.begin() + static_cast<std::ptrdiff_t>(made));
  } while (status != Z_STREAM_END || !file.empty());
  return content;
}

}  // namespace assay::pipeline
