#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "bundle/bundle.h"
#include "bundle/header.h"

namespace assay::bundle {
namespace {

std::vector<Section> lay_out(const graph::Graph& graph) {
  std::vector<Section> sections;
  std::uint64_t offset = 0;
  for (const graph::Value& value : graph.values) {
    if (!value.constant) continue;
    const graph::Constant& constant = *value.constant;
    sections.push_back({constant.dtype, offset, constant.bytes.size(), xxh3_64(constant.bytes)});
    offset += align(constant.bytes.size());
  }
  return sections;
}

void write_padding(AtomicFile& file, std::uint64_t size) {
  static constexpr std::array<std::byte, kAlignment> kZeros{};
  file.write(std::span(kZeros).first(align(size) - size));
}

}  // namespace

void write(const Bundle& bundle, const std::filesystem::path& path) {
  const std::vector<Section> sections = lay_out(*bundle.graph);
  const std::string header = encode_header(bundle, sections);
  if (header.size() > kMaxHeaderBytes)
    fail(ErrorKind::unsupported, "{}: a header of {} bytes, the limit is {}", path.string(),
         header.size(), kMaxHeaderBytes);
  Preamble preamble;
  preamble.header_bytes = static_cast<std::uint32_t>(header.size());
  preamble.header_checksum = xxh3_64(std::as_bytes(std::span(header)));
  preamble.file_bytes = preamble.data_begin();
  if (!sections.empty())
    preamble.file_bytes += sections.back().offset + align(sections.back().size);

  AtomicFile file(path);
  file.write(encode(preamble));
  file.write(header);
  write_padding(file, kPreambleBytes + header.size());
  for (const graph::Value& value : bundle.graph->values) {
    if (!value.constant) continue;
    file.write(value.constant->bytes);
    write_padding(file, value.constant->bytes.size());
  }
  file.commit();
}

}  // namespace assay::bundle
