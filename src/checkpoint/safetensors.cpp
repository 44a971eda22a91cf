#include "checkpoint/safetensors.h"

#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/file_kind.h"
#include "checkpoint/quote.h"
#include "checkpoint/safetensors_header.h"
#include "checkpoint/safetensors_layout.h"

namespace assay::checkpoint {
namespace {

constexpr std::size_t kPrefix = 8;  // the header's length

std::uint64_t read_u64(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kPrefix; ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

[[noreturn]] void not_safetensors(std::span<const std::byte> bytes, std::string_view file,
                                  ErrorKind kind, const std::string& reason) {
  if (const std::string_view sentence = describe_foreign_file(bytes); !sentence.empty()) {
    fail(ErrorKind::bad_input, "{}: not a safetensors file: {}", file, sentence);
  }
  fail(kind, "{}: {}", file, reason);
}

/// The header's text; what is before it is checked.
std::string_view header_text(std::span<const std::byte> bytes, std::string_view file) {
  if (bytes.size() < kPrefix) {
    not_safetensors(bytes, file, ErrorKind::corrupt,
                    fmt::format("truncated: {} bytes, and a safetensors file starts with the 8 "
                                "bytes of its header's length",
                                bytes.size()));
  }
  const std::uint64_t length = read_u64(bytes);
  if (length > kMaxHeaderBytes) {
    not_safetensors(
        bytes, file, ErrorKind::bad_input,
        fmt::format("not a safetensors file, or a damaged one: a header of {} bytes, over "
                    "the format's limit of {}",
                    length, kMaxHeaderBytes));
  }
  const std::string_view rest(reinterpret_cast<const char*>(bytes.data()) + kPrefix,
                              bytes.size() - kPrefix);
  if (!rest.empty() && length > 0 && rest[0] != '{') {
    not_safetensors(bytes, file, ErrorKind::bad_input,
                    "not a safetensors file: the header does not start with '{'");
  }
  if (length > rest.size()) {
    fail(ErrorKind::corrupt, "{}: truncated: a header of {} bytes in a file of {}", file, length,
         bytes.size());
  }
  if (length == 0) {
    fail(ErrorKind::bad_input, "{}: the header is empty; the least is {{}}", file);
  }
  return rest.substr(0, length);
}

}  // namespace

Weights parse_safetensors(std::span<const std::byte> bytes, std::string_view file,
                          const std::shared_ptr<const void>& owner) {
  const std::string_view text = header_text(bytes, file);
  Header header = parse_header(text, file);
  const std::span<const std::byte> data = bytes.subspan(kPrefix + text.size());
  check_layout(header.tensors, data.size(), file);

  Weights weights;
  weights.metadata = std::move(header.metadata);
  for (HeaderEntry& entry : header.tensors) {
    weights.add({std::move(entry.name), entry.dtype, std::move(entry.shape),
                 data.subspan(entry.begin, entry.end - entry.begin), owner});
  }
  return weights;
}

Weights read_safetensors(const std::filesystem::path& file) {
  const std::shared_ptr<const MappedFile> mapped = MappedFile::open(file);
  return parse_safetensors(mapped->bytes(), file.string(), mapped);
}

}  // namespace assay::checkpoint
