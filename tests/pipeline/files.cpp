#include "pipeline/files.h"

#include <fmt/format.h>
#include <zlib.h>

namespace assay::test {
void append(Bytes& bytes, std::string_view text) {
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

Bytes to_bytes(std::string_view text) {
  Bytes bytes;
  append(bytes, text);
  return bytes;
}

void append_big_endian(Bytes& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<std::byte>(number >> shift & 0xff));
}

namespace {

void append(Bytes& bytes, const Bytes& more) {
  for (const std::byte b : more) bytes.push_back(b);
}

/// zlib's own formats: window bits 15 for a zlib stream, 31 for gzip.
Bytes deflated(const Bytes& content, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, content.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

Bytes gzipped(const Bytes& content) { return deflated(content, 31); }

Bytes png(int width, int height, std::array<std::uint8_t, 3> colour) {
  Bytes file = to_bytes(std::string_view("\x89PNG\r\n\x1a\n", 8));
  const auto chunk = [&](std::string_view type, const Bytes& content) {
    Bytes body = to_bytes(type);
    append(body, content);
    append_big_endian(file, static_cast<std::uint32_t>(content.size()));
    append(file, body);
    append_big_endian(
        file, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                               static_cast<uInt>(body.size()))));
  };
  Bytes header;
  append_big_endian(header, static_cast<std::uint32_t>(width));
  append_big_endian(header, static_cast<std::uint32_t>(height));
  append(header, std::string_view("\x08\x02\x00\x00\x00", 5));
  chunk("IHDR", header);
  Bytes rows;
  for (int y = 0; y < height; ++y) {
    rows.push_back(std::byte{0});
    for (int x = 0; x < width; ++x)
      for (const std::uint8_t value : colour) rows.push_back(std::byte{value});
  }
  chunk("IDAT", deflated(rows, 15));
  chunk("IEND", {});
  return file;
}

Bytes tar(const std::vector<TarEntry>& entries) {
  Bytes file;
  for (const TarEntry& entry : entries) {
    std::string header(512, '\0');
    header.replace(0, entry.name.size(), entry.name);
    header.replace(100, 7, "0000644");
    header.replace(124, 11, fmt::format("{:011o}", entry.content.size()));
    header.replace(136, 11, "00000000000");
    header[156] = entry.type;
    header.replace(257, 8, std::string_view("ustar\00000", 8));
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
    append(file, header);
    append(file, entry.content);
    file.resize((file.size() + 511) / 512 * 512);
  }
  file.resize(file.size() + 1024);
  return file;
}

}  // namespace assay::test
