/// safetensors files that are valid, however unusual.
#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <array>

#include "checkpoint/support.h"

namespace assay::checkpoint {
namespace {

Weights parse(std::string_view bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes)), "m.safetensors", nullptr);
}

std::string text_of(const TensorView& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

TEST(Safetensors, GivesEachTensorItsOwnBytes) {
  const std::string file = safetensors_bytes(
      "{" + entry("b", "F32", "2,1", "2,10") + "," + entry("a", "BF16", "1", "0,2") + "}",
      "AAbbbbBBBB");
  const Weights weights = parse(file);
  ASSERT_EQ(weights.all().size(), 2U);
  const TensorView* a = weights.find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->name, "a");
  EXPECT_EQ(a->dtype, DType::bf16);
  EXPECT_EQ(text_of(*a), "AA");
  const TensorView* b = weights.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(b->elements(), 2);
  EXPECT_EQ(text_of(*b), "bbbbBBBB");
  EXPECT_EQ(weights.find("c"), nullptr);
}

struct TypeCase {
  std::string_view name;
  DType dtype;
  int bits;
};

TEST(Safetensors, ReadsEveryTypeOfTheFormat) {
  constexpr std::array kTypes{
      TypeCase{"BOOL", DType::boolean, 8},
      TypeCase{"F4", DType::f4, 4},
      TypeCase{"F6_E2M3", DType::f6_e2m3, 6},
      TypeCase{"F6_E3M2", DType::f6_e3m2, 6},
      TypeCase{"U8", DType::u8, 8},
      TypeCase{"I8", DType::i8, 8},
      TypeCase{"F8_E5M2", DType::f8_e5m2, 8},
      TypeCase{"F8_E4M3", DType::f8_e4m3, 8},
      TypeCase{"F8_E8M0", DType::f8_e8m0, 8},
      TypeCase{"F8_E4M3FNUZ", DType::f8_e4m3fnuz, 8},
      TypeCase{"F8_E5M2FNUZ", DType::f8_e5m2fnuz, 8},
      TypeCase{"I16", DType::i16, 16},
      TypeCase{"U16", DType::u16, 16},
      TypeCase{"F16", DType::f16, 16},
      TypeCase{"BF16", DType::bf16, 16},
      TypeCase{"I32", DType::i32, 32},
      TypeCase{"U32", DType::u32, 32},
      TypeCase{"F32", DType::f32, 32},
      TypeCase{"C64", DType::c64, 64},
      TypeCase{"F64", DType::f64, 64},
      TypeCase{"I64", DType::i64, 64},
      TypeCase{"U64", DType::u64, 64},
  };
  for (const TypeCase& type : kTypes) {
    SCOPED_TRACE(type.name);
    const auto size = static_cast<std::size_t>(type.bits);  // 8 elements
    const Weights weights = parse(
        safetensors_bytes("{" + entry("t", type.name, "4,2", "0," + std::to_string(size)) + "}",
                          std::string(size, 'x')));
    EXPECT_EQ(weights.find("t")->dtype, type.dtype);
    EXPECT_EQ(weights.find("t")->bytes.size(), size);
  }
}

TEST(Safetensors, TakesEmptyAndZeroRankTensors) {
  // The weights point into the bytes.
  const auto bytes = safetensors_bytes("{" + entry("none", "F32", "0,3", "0,0") + "," +
                                           entry("one", "F32", "", "0,4") + "," +
                                           entry("last", "U8", "7,0", "4,4") + "}",
                                       "1234");
  const Weights weights = parse(bytes);
  EXPECT_EQ(weights.find("none")->elements(), 0);
  EXPECT_EQ(weights.find("one")->elements(), 1);
  EXPECT_EQ(text_of(*weights.find("one")), "1234");
  EXPECT_EQ(weights.find("last")->bytes.size(), 0U);
}

TEST(Safetensors, TakesUnalignedTensors) {
  const auto bytes = safetensors_bytes(
      "{" + entry("byte", "U8", "1", "0,1") + "," + entry("wide", "F64", "1", "1,9") + "}",
      "b12345678");
  const Weights weights = parse(bytes);
  EXPECT_EQ(text_of(*weights.find("wide")), "12345678");
}

TEST(Safetensors, TakesSpacesBehindTheHeaderAndAnEmptyOne) {
  EXPECT_EQ(parse(safetensors_bytes("{}")).all().size(), 0U);
  EXPECT_EQ(parse(safetensors_bytes("{}      ")).all().size(), 0U);
  EXPECT_EQ(parse(safetensors_bytes("{" + entry("t", "U8", "1", "0,1") + "}   ", "x")).all().size(),
            1U);
}

TEST(Safetensors, KeepsMetadataAndUnicodeNames) {
  const Weights weights =
      parse(safetensors_bytes(R"({"__metadata__":{"format":"pt","note":"\u00e9"},)" +
                                  entry("größe", "U8", "1", "0,1") + "}",
                              "x"));
  EXPECT_EQ(weights.metadata,
            (std::map<std::string, std::string>{{"format", "pt"}, {"note", "é"}}));
  EXPECT_NE(weights.find("größe"), nullptr);
}

TEST(Safetensors, TakesAHeaderWhoseLengthLooksLikeAPickle) {
  // 640 is 80 02 in little-endian, a pickle's first two bytes.
  std::string header = "{" + entry("t", "U8", "1", "0,1") + "}";
  header.resize(640, ' ');
  EXPECT_EQ(parse(safetensors_bytes(header, "x")).all().size(), 1U);
}

TEST(Safetensors, KeepsTheBytesAliveWithTheTensor) {
  const auto path = fresh_folder("") / "m.safetensors";
  write_file(path, safetensors_bytes("{" + entry("t", "U8", "4", "0,4") + "}", "data"));
  TensorView kept;
  {
    const Weights weights = read_safetensors(path);
    kept = *weights.find("t");
  }
  EXPECT_EQ(text_of(kept), "data");
}

TEST(Safetensors, WritesWhatTheFormatsOwnLibraryWrites) {
  // The example was written by safetensors itself: writing it again must give the same bytes.
  const auto original = std::filesystem::path(ASSAY_SOURCE_DIR) /
                        "examples/mobilevit_xxs.fashion_mnist/model.safetensors";
  const auto copy = fresh_folder("") / "copy.safetensors";
  write_safetensors(copy, read_safetensors(original));
  EXPECT_TRUE(read_back(copy) == read_back(original));
}

TEST(Safetensors, AgreesWithTheFormatsOwnLibraryOnEveryType) {
  // tests/golden/every_dtype.py made it: eight elements of each type, bytes counted up from 1.
  const auto original =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/golden/every_dtype.safetensors";
  const Weights weights = read_safetensors(original);
  EXPECT_EQ(weights.all().size(), 20U);
  for (const auto& [name, tensor] : weights.all()) {
    SCOPED_TRACE(name);
    EXPECT_EQ(tensor.elements(), 8);
    ASSERT_EQ(static_cast<int>(tensor.bytes.size()), size_in_bits(tensor.dtype));
    for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
      EXPECT_EQ(std::to_integer<std::size_t>(tensor.bytes[i]), i + 1);
    }
  }
  const auto copy = fresh_folder("") / "copy.safetensors";
  write_safetensors(copy, weights);
  EXPECT_TRUE(read_back(copy) == read_back(original));
}

TEST(Safetensors, WritesByAlignmentThenNameAndReadsBack) {
  const std::string source =
      safetensors_bytes("{" + entry("b", "U8", "3", "0,3") + "," + entry("a", "U8", "1", "3,4") +
                            "," + entry("z", "F32", "1", "4,8") + "}",
                        "bbbaZZZZ");
  const auto path = fresh_folder("") / "m.safetensors";
  write_safetensors(path, parse(source));
  const std::string header = "{" + entry("z", "F32", "1", "0,4") + "," +
                             entry("a", "U8", "1", "4,5") + "," + entry("b", "U8", "3", "5,8") +
                             "}";
  std::string padded = header;
  padded.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_back(path), safetensors_bytes(padded, "ZZZZabbb"));
}

TEST(Safetensors, RefusesToWriteATensorWhoseBytesAreNotItsShape) {
  Weights weights;
  weights.add({"t", DType::f32, {3}, {}, nullptr});
  expect_error(ErrorKind::bad_input, {"'t'", "0 bytes"},
               [&] { write_safetensors(fresh_folder("") / "m.safetensors", weights); });
}

TEST(Weights, RefuseANameTwice) {
  Weights weights;
  weights.add({"t", DType::f32, {0}, {}, nullptr});
  expect_error(ErrorKind::bad_input, {"'t'", "twice"}, [&] {
    weights.add({"t", DType::f32, {0}, {}, nullptr});
  });
}

}  // namespace
}  // namespace assay::checkpoint
