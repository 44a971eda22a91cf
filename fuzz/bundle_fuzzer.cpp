/// Any bytes as a bundle: an Error, or a graph whose constants lie in the file. Checksums would
/// stop a fuzzer at once, so the input is taken apart and sealed here: 2 bytes of header length,
/// the header's text, the data; section checksums are not looked at. An input that begins as a
/// bundle does is read as it is.
#include <algorithm>
#include <cstring>
#include <vector>

#include "assay/error.h"
#include "base/hash.h"
#include "bundle/format.h"
#include "bundle/reader.h"
#include "require.h"

namespace {

using assay::bundle::kPreambleBytes;
using assay::bundle::Preamble;
using assay::fuzz::require;
using Bytes = std::vector<std::byte>;

Bytes sealed(std::span<const std::byte> input) {
  std::uint16_t wished = 0;
  std::memcpy(&wished, input.data(), sizeof wished);
  input = input.subspan(sizeof wished);
  const auto header = input.first(std::min<std::size_t>(wished, input.size()));
  const auto data = input.subspan(header.size());
  Preamble preamble;
  preamble.header_bytes = static_cast<std::uint32_t>(header.size());
  preamble.header_checksum = assay::xxh3_64(header);
  preamble.file_bytes = preamble.data_begin() + data.size();
  Bytes file(preamble.file_bytes);
  std::ranges::copy(assay::bundle::encode(preamble), file.begin());
  std::ranges::copy(header, file.begin() + kPreambleBytes);
  std::ranges::copy(data, file.begin() + static_cast<std::ptrdiff_t>(preamble.data_begin()));
  return file;
}

void read(std::span<const std::byte> file, bool check_sections) {
  assay::bundle::Reader reader(file, nullptr);
  reader.read_preamble();
  reader.check_size();
  reader.check_header();
  reader.parse_header();
  reader.read_sections();
  if (check_sections) reader.check_sections();
  const assay::bundle::Bundle bundle = reader.decode();
  const auto logits = bundle.graph->value(bundle.graph->output("logits")).dims;
  require(logits.size() == 1 && logits[0] == static_cast<std::int64_t>(bundle.labels.size()),
          "there is a label for each logit");
  for (const assay::graph::Value& value : bundle.graph->values) {
    if (!value.constant) continue;
    const auto bytes = value.constant->bytes;
    const auto each = static_cast<std::size_t>(assay::size_in_bits(value.constant->dtype)) / 8;
    require(bytes.size() == static_cast<std::size_t>(assay::graph::elements(value.dims)) * each,
            "a constant's bytes are its shape");
    require(bytes.empty() || (bytes.data() >= file.data() &&
                              bytes.data() + bytes.size() <= file.data() + file.size()),
            "a constant lies in the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto input = std::as_bytes(std::span(data, size));
  try {
    if (data[0] == assay::bundle::kMagic[0])
      read(input, true);
    else
      read(sealed(input), false);
  } catch (const assay::Error&) {
  }
  return 0;
}
