/// safetensors files that are not valid: each is one error that names the file and the tensor.
#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_header.h"
#include "checkpoint/support.h"

namespace assay::checkpoint {
namespace {

constexpr auto kBad = ErrorKind::bad_input;
constexpr auto kCorrupt = ErrorKind::corrupt;

struct Case {
  std::string name;
  std::string bytes;
  ErrorKind kind;
  std::vector<std::string> parts;
  friend void PrintTo(const Case& param, std::ostream* out) { *out << param.name; }
};

std::string with_length(std::uint64_t length, std::string_view rest) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>(length >> (8 * i));
  }
  return bytes.append(rest);
}

/// A file of one tensor "t" whose entry is `entry_text`.
std::string tensor_file(std::string_view entry_text, std::string_view data = "") {
  return safetensors_bytes(R"({"t":)" + std::string(entry_text) + "}", data);
}

std::vector<Case> not_the_format() {
  const std::string pickle = std::string("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", 15);
  return {
      {"Empty", "", kCorrupt, {"truncated", "0 bytes"}},
      {"SevenBytes", "1234567", kCorrupt, {"truncated", "7 bytes"}},
      {"OnlyLength", with_length(2, ""), kCorrupt, {"truncated"}},
      {"HeaderLongerThanFile", with_length(100, "{}"), kCorrupt, {"truncated", "100", "10"}},
      {"HeaderOver100MB", with_length(100'000'001, "{}"), kBad, {"100000001", "100000000"}},
      {"HeaderOf16EiB", with_length(~std::uint64_t{0}, "{}"), kBad, {"18446744073709551615"}},
      {"EmptyHeader", with_length(0, ""), kBad, {"empty"}},
      {"LeadingSpace", safetensors_bytes(" {}"), kBad, {"start with '{'"}},
      // 640 is 80 02 in little-endian, a pickle's first two bytes.
      {"LeadingSpaceAtALengthLikeAPickle",
       safetensors_bytes(" {}" + std::string(637, ' ')),
       kBad,
       {"start with '{'"}},
      {"ByteOrderMark", safetensors_bytes("\xEF\xBB\xBF{}"), kBad, {"start with '{'"}},
      {"Array", safetensors_bytes("[]"), kBad, {"start with '{'"}},
      {"Pickle", pickle, kBad, {"PyTorch pickle", "convert"}},
      {"ShortPickle", std::string("\x80\x02}q.", 5), kBad, {"PyTorch pickle"}},
      {"PickleOfProtocol4", "\x80\x04\x95\x10 and more of it", kBad, {"PyTorch pickle"}},
      {"Zip",
       std::string("PK\x03\x04\x00\x00\x08\x08 archive/data.pkl", 25),
       kBad,
       {"PyTorch pickle"}},
      {"LfsPointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0", kBad, {"Git LFS"}},
      {"Gguf", std::string("GGUF\x03\0\0\0\0\0\0\0", 12), kBad, {"GGUF"}},
      {"WebPage", "<!DOCTYPE html><html></html>", kBad, {"web page"}},
  };
}

std::vector<Case> not_json() {
  const std::string deep(100'000, '[');
  return {
      {"NotJson", safetensors_bytes("{tensor}"), kBad, {"not JSON", "byte 2"}},
      {"Unfinished", safetensors_bytes(R"({"t":{"dtype":"F32")"), kBad, {"not JSON"}},
      {"TwoDocuments", safetensors_bytes("{}{}"), kBad, {"not JSON"}},
      {"Comment", safetensors_bytes("{/* */}"), kBad, {"not JSON"}},
      {"NulPadding", safetensors_bytes(std::string("{}\0\0", 4)), kBad, {"NUL", "byte 2"}},
      {"NotUtf8Name", safetensors_bytes("{\"a\xff\":1}"), kBad, {"UTF-8"}},
      {"OverlongUtf8", safetensors_bytes("{\"a\xc0\x80\":1}"), kBad, {"UTF-8"}},
      {"NotUtf8Metadata",
       safetensors_bytes("{\"__metadata__\":{\"a\":\"\xe9\"}}"),
       kBad,
       {"UTF-8"}},
      {"DeepArrays", tensor_file(deep), kBad, {"'t'", "an array"}},
      {"DeepShape", tensor_file(R"({"dtype":"F32","shape":[[)" + deep), kBad, {"'t'", "shape"}},
      {"DeepObjects", tensor_file(R"({"dtype":{"dtype":{"dtype":)"), kBad, {"'t'", "dtype"}},
      {"DuplicateTensor",
       safetensors_bytes(
           "{" + entry("t", "U8", "1", "0,1") + "," + entry("t", "U8", "1", "1,2") + "}", "xx"),
       kBad,
       {"'t'", "twice"}},
      {"DuplicateByEscape",
       safetensors_bytes(
           "{" + entry("t", "U8", "1", "0,1") + "," + entry("\\u0074", "U8", "1", "1,2") + "}",
           "xx"),
       kBad,
       {"'t'", "twice"}},
      {"DuplicateField",
       tensor_file(R"({"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]})", "x"),
       kBad,
       {"'t'", "'dtype'", "twice"}},
      {"DuplicateMetadata",
       safetensors_bytes(R"({"__metadata__":{},"__metadata__":{}})"),
       kBad,
       {"__metadata__", "twice"}},
      {"DuplicateMetadataKey",
       safetensors_bytes(R"({"__metadata__":{"k":"1","k":"2"}})"),
       kBad,
       {"__metadata__", "'k'", "twice"}},
  };
}

std::vector<Case> wrong_entries() {
  const std::string tail = R"("data_offsets":[0,4]})";
  return {
      {"EntryIsNumber", tensor_file("1"), kBad, {"'t'", "a number"}},
      {"EntryIsNull", tensor_file("null"), kBad, {"'t'", "null"}},
      {"EntryIsEmpty", tensor_file("{}"), kBad, {"'t'", "no dtype"}},
      {"NoShape", tensor_file(R"({"dtype":"F32",)" + tail, "1234"), kBad, {"'t'", "no shape"}},
      {"NoOffsets",
       tensor_file(R"({"dtype":"F32","shape":[]})", "1234"),
       kBad,
       {"'t'", "no data_offsets"}},
      {"UnknownKey",
       tensor_file(R"({"scale":1,"dtype":"F32","shape":[1],)" + tail, "1234"),
       kBad,
       {"'t'", "'scale'"}},
      {"UnknownDtype",
       tensor_file(R"({"dtype":"F7","shape":[1],)" + tail, "1234"),
       kBad,
       {"'t'", "unknown dtype", "'F7'"}},
      {"DtypeIsNumber",
       tensor_file(R"({"dtype":1,"shape":[1],)" + tail, "1234"),
       kBad,
       {"'t'", "a number"}},
      {"NegativeExtent",
       tensor_file(R"({"dtype":"F32","shape":[-1],)" + tail, "1234"),
       kBad,
       {"'t'", "a negative number"}},
      {"FractionalExtent",
       tensor_file(R"({"dtype":"F32","shape":[1.0],)" + tail, "1234"),
       kBad,
       {"'t'", "no 64-bit integer"}},
      {"ExtentOver64Bits",
       tensor_file(R"({"dtype":"F32","shape":[99999999999999999999],)" + tail, "1234"),
       kBad,
       {"'t'", "no 64-bit integer"}},
      {"ExtentOver63Bits",
       tensor_file(R"({"dtype":"F32","shape":[9223372036854775808],)" + tail, "1234"),
       kBad,
       {"'t'", "9223372036854775808"}},
      {"ShapeIsString",
       tensor_file(R"({"dtype":"F32","shape":"1",)" + tail, "1234"),
       kBad,
       {"'t'", "a string"}},
      {"OneOffset",
       tensor_file(R"({"dtype":"F32","shape":[1],"data_offsets":[4]})", "1234"),
       kBad,
       {"'t'", "two non-negative integers"}},
      {"ThreeOffsets",
       tensor_file(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})", "1234"),
       kBad,
       {"'t'", "two non-negative integers"}},
      {"NegativeOffset",
       tensor_file(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})", "1234"),
       kBad,
       {"'t'", "a negative number"}},
      {"MetadataIsList", safetensors_bytes(R"({"__metadata__":[]})"), kBad, {"__metadata__"}},
      {"MetadataOfNumbers",
       safetensors_bytes(R"({"__metadata__":{"epoch":3}})"),
       kBad,
       {"__metadata__", "'epoch'", "a number"}},
      {"RankOf65",
       tensor_file(R"({"dtype":"U8","shape":[1)" +
                       [] {
                         std::string ones;
                         for (int i = 0; i < 64; ++i) ones += ",1";
                         return ones;
                       }() +
                       R"(],"data_offsets":[0,1]})",
                   "x"),
       kBad,
       {"'t'", "64 dimensions"}},
  };
}

std::vector<Case> wrong_layouts() {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets,
                      std::string_view data) {
    return safetensors_bytes("{" + entry("t", dtype, shape, offsets) + "}", data);
  };
  const auto two = [](std::string_view a, std::string_view b, std::string_view data) {
    return safetensors_bytes("{" + entry("a", "U8", "4", a) + "," + entry("b", "U8", "4", b) + "}",
                             data);
  };
  return {
      {"TooManyBytesForShape",
       one("F32", "1", "0,8", "12345678"),
       kCorrupt,
       {"'t'", "[1] of F32", "needs 4 bytes", "8"}},
      {"TooFewBytesForShape",
       one("F32", "2,2", "0,4", "1234"),
       kCorrupt,
       {"'t'", "[2, 2] of F32", "needs 16 bytes"}},
      {"ProductOverflows",
       one("U8", "4294967296,4294967296", "0,0", ""),
       kCorrupt,
       {"'t'", "overflows"}},
      {"ProductOverflowsBeforeAZero",
       one("U8", "4294967296,4294967296,0", "0,0", ""),
       kCorrupt,
       {"'t'", "overflows"}},
      {"BitsOverflow",
       one("F64", "4611686018427387904", "0,0", ""),
       kCorrupt,
       {"'t'", "overflows"}},
      {"HalfAByte", one("F4", "3", "0,2", "xx"), kCorrupt, {"'t'", "whole bytes"}},
      {"EndBeforeBegin", one("F32", "1", "4,0", "1234"), kCorrupt, {"'t'", "before it begins"}},
      {"PastTheEnd", one("F32", "2", "0,8", "1234"), kCorrupt, {"truncated", "'t'"}},
      {"OffsetsOf64Bits",
       one("U8", "1", "18446744073709551614,18446744073709551615", "x"),
       kCorrupt,
       {"truncated", "'t'"}},
      {"Overlap", two("0,4", "2,6", "123456"), kCorrupt, {"'a'", "'b'", "overlap"}},
      {"SameRange", two("0,4", "0,4", "1234"), kCorrupt, {"'a'", "'b'", "overlap"}},
      {"EmptyInsideAnother",
       safetensors_bytes(
           "{" + entry("a", "U8", "4", "0,4") + "," + entry("b", "U8", "0", "2,2") + "}", "1234"),
       kCorrupt,
       {"'a'", "'b'", "overlap"}},
      {"Hole", two("0,4", "5,9", "123456789"), kCorrupt, {"hole of 1 bytes", "'b'"}},
      {"HoleAtTheStart", one("U8", "1", "1,2", "12"), kCorrupt, {"hole of 1 bytes", "'t'"}},
      {"TrailingBytes", one("U8", "1", "0,1", "123"), kCorrupt, {"2 trailing bytes", "'t'"}},
      {"OnlyTrailingBytes", safetensors_bytes("{}", "123"), kCorrupt, {"3 trailing bytes"}},
  };
}

class MalformedSafetensors : public testing::TestWithParam<Case> {};

TEST_P(MalformedSafetensors, IsOneErrorThatNamesFileAndTensor) {
  const Case& param = GetParam();
  std::vector<std::string> parts = param.parts;
  parts.emplace_back("folder/m.safetensors: ");
  expect_error(param.kind, parts, [&] {
    parse_safetensors(std::as_bytes(std::span(param.bytes)), "folder/m.safetensors", nullptr);
  });
}

std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(NotTheFormat, MalformedSafetensors, testing::ValuesIn(not_the_format()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(NotJson, MalformedSafetensors, testing::ValuesIn(not_json()), case_name);
INSTANTIATE_TEST_SUITE_P(WrongEntries, MalformedSafetensors, testing::ValuesIn(wrong_entries()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(WrongLayouts, MalformedSafetensors, testing::ValuesIn(wrong_layouts()),
                         case_name);

TEST(MalformedSafetensorsFile, IsNamedByItsPath) {
  const auto path = fresh_folder("") / "weights.safetensors";
  write_file(path, safetensors_bytes("{}", "x"));
  expect_error(kCorrupt, {path.string(), "trailing"}, [&] { read_safetensors(path); });
  expect_error(ErrorKind::not_found, {"absent.safetensors"},
               [&] { read_safetensors(path.parent_path() / "absent.safetensors"); });
}

TEST(MalformedSafetensorsFile, HasAtMostSoManyTensors) {
  std::string header = "{";
  for (std::size_t i = 0; i <= kMaxTensors; ++i) {
    header += (i == 0 ? "" : ",") + entry(std::to_string(i), "U8", "0", "0,0");
  }
  const std::string file = safetensors_bytes(header + "}");
  expect_error(kBad, {"m.safetensors", "250000 tensors"}, [&] {
    parse_safetensors(std::as_bytes(std::span(file)), "m.safetensors", nullptr);
  });
}

TEST(MalformedSafetensorsFile, CannotWriteToATerminalOrFillALog) {
  const std::string name = std::string(100'000, 'n') + R"(\u001b[31m)";
  const std::string file = safetensors_bytes("{" + entry(name, "U8", "2", "0,1") + "}", "x");
  expect_error(kCorrupt, {"nnn...'"}, [&] {
    parse_safetensors(std::as_bytes(std::span(file)), "m.safetensors", nullptr);
  });
  const std::string escape =
      safetensors_bytes("{" + entry(R"(\u001b[31m)", "U8", "2", "0,1") + "}", "x");
  expect_error(kCorrupt, {R"('\x1b[31m')"}, [&] {
    parse_safetensors(std::as_bytes(std::span(escape)), "m.safetensors", nullptr);
  });
}

}  // namespace
}  // namespace assay::checkpoint
