#include "bundle/reader.h"

#include <algorithm>
#include <array>
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

/// In which type each precision, in order, stores weights.
constexpr std::array kTypes{DType::f32, DType::f16,     DType::bf16,
                            DType::i8,  DType::f8_e4m3, DType::f4};
static_assert(kTypes.size() == graph::kPrecisions.size());

/// Which types a bundle's sections may have: those of its precision and of every wider one.
std::span<const DType> types_of(std::string_view precision) {
  const auto narrowest = static_cast<std::size_t>(*graph::precision_from_name(precision));
  return std::span(kTypes).first(narrowest + 1);
}

std::string names_of(std::span<const DType> types) {
  std::vector<std::string_view> names;
  for (const DType type : types) names.push_back(name(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

constexpr Step kSteps[] = {
    {"preamble",
     [](Reader& reader, Bundle&) {
       reader.read_preamble();
       return fmt::format("format version {}, checksum right", reader.preamble().version);
     }},
    {"file size",
     [](Reader& reader, Bundle&) {
       reader.check_size();
       return fmt::format("{} bytes, as declared", reader.preamble().file_bytes);
     }},
    {"header checksum",
     [](Reader& reader, Bundle&) {
       reader.check_header();
       return fmt::format("{:016x} over {} bytes", reader.preamble().header_checksum,
                          reader.preamble().header_bytes);
     }},
    {"header",
     [](Reader& reader, Bundle&) {
       reader.parse_header();
       return std::string("strict JSON, every required feature known");
     }},
    {"section table",
     [](Reader& reader, Bundle&) {
       reader.read_sections();
       return fmt::format("{} sections, in order, without holes", reader.sections().size());
     }},
    {"section checksums",
     [](Reader& reader, Bundle&) {
       reader.check_sections();
       return fmt::format("{} right, padding zero", reader.sections().size());
     }},
    {"graph",
     [](Reader& reader, Bundle& bundle) {
       bundle = reader.decode();
       return fmt::format("{}: {} steps, {} labels", bundle.graph->name, bundle.graph->nodes.size(),
                          bundle.labels.size());
     }},
};

}  // namespace

std::span<const Step> reading_steps() { return kSteps; }

Bundle read_all(Reader& reader) {
  Bundle bundle;
  for (const Step& step : kSteps) (void)step.run(reader, bundle);
  return bundle;
}

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

graph::Constant Reader::constant(std::size_t index, std::size_t& next,
                                 std::string_view precision) const {
  if (index != next || index >= sections_.size())
    fail(ErrorKind::corrupt, "a constant of the graph is section {} of {}, expected {}", index,
         sections_.size(), next);
  ++next;
  const Section& section = sections_[index];
  const auto types = types_of(precision);
  if (std::ranges::find(types, section.dtype) == types.end())
    fail(ErrorKind::corrupt, "section {} is {}, but the precision {} stores {}", index,
         name(section.dtype), precision, names_of(types));
  return {section.dtype, data().subspan(section.offset, section.size), owner_};
}

Bundle Reader::decode() {
  Bundle bundle = decode_header(*header_);
  std::size_t next = 0;
  bundle.graph =
      std::make_shared<const graph::Graph>(decode_graph(*header_, bundle, [&](std::size_t index) {
        return constant(index, next, bundle.precision);
      }));
  if (next != sections_.size()) fail(ErrorKind::corrupt, "section {} belongs to no constant", next);
  return bundle;
}

}  // namespace assay::bundle
