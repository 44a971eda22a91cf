#include "bundle/reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "bundle/header.h"

namespace assay::bundle {
namespace {

/// The schema nests 6 deep; more is an attack on the parser's stack.
constexpr int kMaxDepth = 24;

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Reader::Reader(std::span<const std::byte> file, std::shared_ptr<const void> owner)
    : file_(file), owner_(std::move(owner)) {}

Reader::~Reader() = default;

std::span<const std::byte> Reader::data() const { return file_.subspan(preamble_.data_begin()); }

void Reader::read_preamble() { preamble_ = decode_preamble(file_); }

void Reader::check_size() {
  if (file_.size() != preamble_.file_bytes)
    fail(ErrorKind::corrupt, "{}: the file has {} bytes, it says {}",
         file_.size() < preamble_.file_bytes ? "truncated" : "trailing bytes", file_.size(),
         preamble_.file_bytes);
  if (preamble_.data_begin() > preamble_.file_bytes)
    fail(ErrorKind::corrupt, "the header's {} bytes do not fit the file's {}",
         preamble_.header_bytes, preamble_.file_bytes);
}

void Reader::check_header() {
  const auto header = file_.subspan(kPreambleBytes, preamble_.header_bytes);
  if (xxh3_64(header) != preamble_.header_checksum)
    fail(ErrorKind::corrupt, "header checksum mismatch");
  const std::size_t end = kPreambleBytes + preamble_.header_bytes;
  if (!all_zero(file_.subspan(end, preamble_.data_begin() - end)))
    fail(ErrorKind::corrupt, "padding behind the header is not zero");
}

void Reader::parse_header() {
  const auto bytes = file_.subspan(kPreambleBytes, preamble_.header_bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    header_ = std::make_unique<Json>(parse_json(text, "header", kMaxDepth));
  } catch (const Error& error) {
    fail(ErrorKind::corrupt, "{}", error.what());
  }
  check_features(*header_);
}

void Reader::read_sections() { sections_ = decode_sections(*header_, data().size()); }

void Reader::check_sections() {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const Section& section = sections_[i];
    if (xxh3_64(data().subspan(section.offset, section.size)) != section.checksum)
      fail(ErrorKind::corrupt, "section {} (bytes {} ... {}): checksum mismatch", i,
           preamble_.data_begin() + section.offset,
           preamble_.data_begin() + section.offset + section.size);
    const std::uint64_t end = section.offset + section.size;
    if (!all_zero(data().subspan(end, align(section.size) - section.size)))
      fail(ErrorKind::corrupt, "padding behind section {} is not zero", i);
  }
}

graph::Constant Reader::constant(std::size_t index, std::vector<bool>& used) const {
  if (index >= sections_.size())
    fail(ErrorKind::corrupt, "the graph refers to section {}, there are {}", index,
         sections_.size());
  if (used[index]) fail(ErrorKind::corrupt, "the graph refers to section {} twice", index);
  used[index] = true;
  const Section& section = sections_[index];
  if (section.dtype != DType::f32)
    fail(ErrorKind::corrupt, "section {} is {}, but the precision fp32 stores F32", index,
         name(section.dtype));
  return {section.dtype, data().subspan(section.offset, section.size), owner_};
}

Bundle Reader::decode() {
  Bundle bundle = decode_header(*header_);
  std::vector<bool> used(sections_.size());
  bundle.graph = std::make_shared<const graph::Graph>(
      decode_graph(*header_, bundle, [&](std::size_t index) { return constant(index, used); }));
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) fail(ErrorKind::corrupt, "section {} belongs to no constant", i);
  return bundle;
}

}  // namespace assay::bundle
