// Headers that lie although every checksum is right: refused as corrupt, without a large
// allocation and without a crash.
#include <nlohmann/json.hpp>

#include "bundle/count_allocations.h"
#include "bundle/tiny_bundle.h"

namespace assay {
namespace {

struct Lie {
  const char* name;
  std::function<void(Json&)> tell;
  const char* message;  ///< a part of it
  ErrorKind kind = ErrorKind::corrupt;
};

/// A recipe that leaves all as it is.
const Json kWideRecipe = {{"name", "wide"},
                          {"toml", "name = \"wide\"\nprecision = \"fp32\"\nbase = \"fp32\"\n"}};

const std::vector<Lie> kLies = {
    {"SectionOverlaps", [](Json& h) { h["sections"][1]["offset"] = 0; },
     "section 1 is at offset 0"},
    {"SectionHole", [](Json& h) { h["sections"][1]["offset"] = 128; },
     "section 1 is at offset 128"},
    {"SectionOffsetOverflows", [](Json& h) { h["sections"][1]["offset"] = ~std::uint64_t{0} - 3; },
     "section 1 is at offset"},
    {"SectionSizeOverflows", [](Json& h) { h["sections"][0]["size"] = ~std::uint64_t{0}; },
     "only 128 are left"},
    {"SectionSizeLeavesTheFile", [](Json& h) { h["sections"][1]["size"] = 65; },
     "only 64 are left"},
    {"SectionSizeNegative", [](Json& h) { h["sections"][0]["size"] = -36; },
     "sections[0].size is -36"},
    {"SectionSizeFraction", [](Json& h) { h["sections"][0]["size"] = 36.0; },
     "sections[0].size is 36.0"},
    {"SectionMissing", [](Json& h) { h["sections"].erase(1); }, "the sections end at 64 of 128"},
    {"SectionShort", [](Json& h) { h["sections"][1]["size"] = 8; }, "section 1"},
    {"SectionChecksumWrong", [](Json& h) { h["sections"][1]["xxh3"] = "0123456789abcdef"; },
     "checksum mismatch"},
    {"SectionChecksumNotHex", [](Json& h) { h["sections"][1]["xxh3"] = "0x23456789abcdef"; },
     "16 lower-case hexadecimal digits"},
    {"SectionDtypeUnknown", [](Json& h) { h["sections"][1]["dtype"] = "F33"; }, "F33"},
    {"SectionDtypeOther", [](Json& h) { h["sections"][1]["dtype"] = "I32"; }, "stores F32"},
    {"SectionExtraField", [](Json& h) { h["sections"][0]["name"] = "x"; },
     "sections[0].name is not a field"},
    {"SectionNotObject", [](Json& h) { h["sections"][0] = 7; }, "expected an object"},
    {"SectionsNotArray", [](Json& h) { h["sections"] = Json::object(); }, "expected an array"},
    {"UnknownField", [](Json& h) { h["recipe"] = "x"; }, "header.recipe is not a field"},
    {"FeatureUnknown", [](Json& h) { h["features"].push_back("roles"); }, "update Assay",
     ErrorKind::unsupported},
    {"FeaturesMissing", [](Json& h) { h.erase("features"); }, "header.features is missing"},
    {"ModelMissing", [](Json& h) { h.erase("model"); }, "header.model is missing"},
    {"BatchHuge", [](Json& h) { h["model"]["max_batch"] = 2147483647; }, "max_batch is 2147483647"},
    {"BatchZero", [](Json& h) { h["model"]["max_batch"] = 0; }, "max_batch is 0"},
    {"BatchText", [](Json& h) { h["model"]["max_batch"] = "2"; }, "max_batch is \"2\""},
    {"PrecisionUnknown", [](Json& h) { h["model"]["precision"] = "fp17"; },
     "fp32, fp16, bf16, int8, fp8 and nvfp4", ErrorKind::unsupported},
    {"PrecisionWithoutItsFeature", [](Json& h) { h["model"]["precision"] = "bf16"; },
     "header.features is []"},
    {"FeatureWithoutItsPrecision", [](Json& h) { h["features"].push_back("precision"); },
     "header.features is [\"precision\"]"},
    {"FeatureTwice",
     [](Json& h) {
       h["model"]["precision"] = "bf16";
       h["features"] = {"precision", "precision"};
     },
     "header.features is"},
    {"Int8WithoutCalibration",
     [](Json& h) {
       h["model"]["precision"] = "int8";
       h["features"].push_back("precision");
     },
     "header.provenance.calibration is missing"},
    {"CalibrationWithoutInt8",
     [](Json& h) {
       h["provenance"]["calibration"] = {
           {"observers", {"max"}}, {"images", 1}, {"stride", 1}, {"offset", 0}, {"limit", 0}};
     },
     "header.provenance.calibration is there"},
    {"NarrowerThanBf16WithoutRecipe",
     [](Json& h) {
       h["model"]["precision"] = "nvfp4";
       h["features"].push_back("precision");
     },
     "header.provenance.recipe is missing"},
    {"RecipeUnannounced", [](Json& h) { h["provenance"]["recipe"] = kWideRecipe; },
     "header.features is []"},
    {"RecipeAnnouncedAndMissing", [](Json& h) { h["features"].push_back("recipe"); },
     "header.features is [\"recipe\"]"},
    {"RecipeNotObject",
     [](Json& h) {
       h["features"].push_back("recipe");
       h["provenance"]["recipe"] = "fp8";
     },
     "expected an object"},
    {"RecipeOfTables",
     [](Json& h) {
       h["features"].push_back("recipe");
       h["provenance"]["recipe"] = {{"name", "x"}, {"toml", std::string(5000, '[')}};
     },
     "not TOML"},
    {"RecipeWithoutName",
     [](Json& h) {
       h["features"].push_back("recipe");
       h["provenance"]["recipe"] = kWideRecipe;
       h["provenance"]["recipe"].erase("name");
     },
     "recipe.name is missing"},
    {"RecipeOfAnotherPrecision",
     [](Json& h) {
       h["model"]["precision"] = "bf16";
       h["features"] = {"precision", "recipe"};
       h["provenance"]["recipe"] = kWideRecipe;
     },
     "recipe makes fp32, but the precision is bf16"},
    {"CalibrationObserverUnknown",
     [](Json& h) {
       h["provenance"]["calibration"] = {
           {"observers", {"luck"}}, {"images", 1}, {"stride", 1}, {"offset", 0}, {"limit", 0}};
     },
     "no observer 'luck'"},
    {"SectionHalfAtFp32", [](Json& h) { h["sections"][1]["dtype"] = "BF16"; }, "stores F32"},
    {"LevelUnknown", [](Json& h) { h["model"]["optimization_level"] = 2; }, "levels 0, 1 and 3",
     ErrorKind::unsupported},
    {"TuningUnannounced", [](Json& h) { h["model"]["optimization_level"] = 3; },
     "and level 3 has [\"tuning\"]"},
    {"TuningMissing",
     [](Json& h) {
       h["model"]["optimization_level"] = 3;
       h["features"] = {"tuning"};
     },
     "tuning"},
    {"TuningAtLevelOne", [](Json& h) { h["tuning"] = Json::array(); }, "tuning"},
    {"TuningOfNumbers",
     [](Json& h) {
       h["model"]["optimization_level"] = 3;
       h["features"] = {"tuning"};
       h["tuning"] =
           Json::array({{{"cpu", "x"}, {"isa", "y"}, {"threads", 1}, {"tactics", {{"a", 1}}}}});
     },
     "header.tuning[0].tactics.a is number"},
    {"TuningTwice",
     [](Json& h) {
       const Json entry = {{"cpu", "x"}, {"isa", "y"}, {"threads", 1}, {"tactics", Json::object()}};
       h["model"]["optimization_level"] = 3;
       h["features"] = {"tuning"};
       h["tuning"] = Json::array({entry, entry});
     },
     "tuning[1] is a second one"},
    {"TuningThreads",
     [](Json& h) {
       h["model"]["optimization_level"] = 3;
       h["features"] = {"tuning"};
       h["tuning"] =
           Json::array({{{"cpu", "x"}, {"isa", "y"}, {"threads", 0}, {"tactics", Json::object()}}});
     },
     "threads is 0"},
    {"InputHuge", [](Json& h) { h["preprocessing"]["input_height"] = 1 << 20; },
     "input_height is 1048576"},
    {"InputOther", [](Json& h) { h["preprocessing"]["input_height"] = 5; },
     "the graph's input is [4, 4, 3], the preprocessing makes [5, 4, 3]"},
    {"CropTiny", [](Json& h) { h["preprocessing"]["crop_pct"] = 1e-9; }, "crop_pct is 1e-09"},
    {"CropNegative", [](Json& h) { h["preprocessing"]["crop_pct"] = -1; }, "crop_pct is -1"},
    {"CropNull", [](Json& h) { h["preprocessing"]["crop_pct"] = nullptr; }, "crop_pct is null"},
    {"StdZero", [](Json& h) { h["preprocessing"]["std"][1] = 0; }, "expected a std above 0"},
    {"MeanShort", [](Json& h) { h["preprocessing"]["mean"].erase(0); }, "mean has 2 numbers"},
    {"MeanText", [](Json& h) { h["preprocessing"]["mean"][0] = "0"; }, "expected numbers"},
    {"InterpolationUnknown", [](Json& h) { h["preprocessing"]["interpolation"] = "magic"; },
     "interpolation"},
    {"LabelsFewer", [](Json& h) { h["labels"].erase(0); }, "2 labels"},
    {"LabelsNumber", [](Json& h) { h["labels"][0] = 1; }, "expected strings"},
    {"FilesNotObjects", [](Json& h) { h["provenance"]["files"][0] = "x"; }, "expected an object"},
    {"GraphMissing", [](Json& h) { h.erase("graph"); }, "header.graph is missing"},
    {"GraphNotObject", [](Json& h) { h["graph"] = 3; }, ""},
    {"HeaderNotObject", [](Json& h) { h = Json::array(); }, "expected an object"},
};

class HostileHeader : public testing::TestWithParam<Lie> {};

TEST_P(HostileHeader, IsRefusedWithoutALargeAllocation) {
  const Lie& lie = GetParam();
  test::Parts parts = test::take_apart(test::bytes_of(test::tiny_bundle()));
  Json header = Json::parse(parts.header);
  lie.tell(header);
  parts.header = header.dump();
  const test::Bytes file = test::put_together(parts);
  test::allocations = {};
  const auto outcome = test::read_outcome(file);
  EXPECT_LT(test::allocations.largest, 64u << 10);
  EXPECT_LT(test::allocations.bytes, 1u << 20);
  ASSERT_TRUE(outcome.kind);
  EXPECT_EQ(*outcome.kind, lie.kind) << outcome.message;
  EXPECT_NE(outcome.message.find(lie.message), std::string::npos) << outcome.message;
}

INSTANTIATE_TEST_SUITE_P(Lies, HostileHeader, testing::ValuesIn(kLies),
                         [](const auto& instance) { return std::string(instance.param.name); });

/// Reads a bundle with `header` as it is.
test::Outcome read_with_header(const std::string& header) {
  test::Parts parts = test::take_apart(test::bytes_of(test::tiny_bundle()));
  parts.header = header;
  return test::read_outcome(test::put_together(parts));
}

TEST(HostileHeaderText, IsCorruptWhereItIsNotStrictJson) {
  const std::string good = test::take_apart(test::bytes_of(test::tiny_bundle())).header;
  ASSERT_FALSE(read_with_header(good).kind);
  std::string utf8 = good;
  utf8[utf8.find("green")] = '\xff';
  const std::vector<std::string> texts = {
      "",
      "{",
      good + " {}",
      std::string(100'000, '['),
      std::string(100'000, '{'),
      "{\"features\":[]," + good.substr(1),
      "{\"features\":" + std::string(1000, '[') + std::string(1000, ']') + "," + good.substr(1),
      utf8,
      good.substr(0, good.size() - 1) + ",}",
  };
  for (const std::string& text : texts) {
    const auto outcome = read_with_header(text);
    ASSERT_TRUE(outcome.kind) << text.substr(0, 80);
    EXPECT_EQ(*outcome.kind, ErrorKind::corrupt) << outcome.message;
  }
}

TEST(HostilePreamble, SizesThatDoNotFitAreCorrupt) {
  const test::Bytes whole = test::bytes_of(test::tiny_bundle());
  const auto with = [&](const std::function<void(bundle::Preamble&)>& change) {
    auto preamble = bundle::decode_preamble(whole);
    change(preamble);
    test::Bytes file = whole;
    const auto begin = bundle::encode(preamble);
    std::copy(begin.begin(), begin.end(), file.begin());
    return test::read_outcome(file).kind;
  };
  EXPECT_EQ(with([](auto&) {}), std::nullopt);
  EXPECT_EQ(with([](auto& p) { p.header_bytes = 0xffffffff; }), ErrorKind::corrupt);
  EXPECT_EQ(with([](auto& p) { p.header_bytes = bundle::kMaxHeaderBytes; }), ErrorKind::corrupt);
  EXPECT_EQ(with([](auto& p) { p.header_bytes = 0; }), ErrorKind::corrupt);
  EXPECT_EQ(with([](auto& p) { p.header_bytes -= 1; }), ErrorKind::corrupt);
  EXPECT_EQ(with([](auto& p) { p.file_bytes = ~std::uint64_t{0}; }), ErrorKind::corrupt);
  EXPECT_EQ(with([](auto& p) { p.file_bytes = 0; }), ErrorKind::corrupt);
  EXPECT_EQ(with([](auto& p) { p.header_checksum ^= 1; }), ErrorKind::corrupt);
  EXPECT_EQ(with([](auto& p) { p.version = 0; }), ErrorKind::corrupt);
}

/// The graph as JSON is the graph room's own; here only that its lies about sections are found.
TEST(HostileGraph, ConstantsMustBeTheSectionsInOrder) {
  test::Parts parts = test::take_apart(test::bytes_of(test::tiny_bundle()));
  const auto with = [&](const std::string& from, const std::string& to) {
    test::Parts changed = parts;
    const auto place = changed.header.find(from);
    EXPECT_NE(place, std::string::npos) << from << " in " << changed.header;
    changed.header.replace(place, from.size(), to);
    return test::read_outcome(test::put_together(changed));
  };
  for (const char* index :
       {"0", "2", "7", "-1", "4294967296", "18446744073709551615", "1.0", "null", "\"1\""}) {
    const auto outcome = with("\"constant\":1", std::string("\"constant\":") + index);
    ASSERT_TRUE(outcome.kind) << index;
    EXPECT_EQ(*outcome.kind, ErrorKind::corrupt) << outcome.message;
  }
}

TEST(HostileGraph, SectionsOfOneSizeCannotTradePlaces) {
  bundle::Bundle twins = test::tiny_bundle();
  graph::Graph graph = *twins.graph;
  test::add_constant(graph, "twin", {3}, {1, 2, 3});
  twins.graph = std::make_shared<const graph::Graph>(graph);
  test::Parts parts = test::take_apart(test::bytes_of(twins));
  EXPECT_FALSE(test::read_outcome(test::put_together(parts)).kind);
  Json header = Json::parse(parts.header);
  std::vector<Json*> constants;
  for (Json& value : header["graph"]["values"])
    if (value.contains("constant")) constants.push_back(&value["constant"]);
  ASSERT_EQ(constants.size(), 3u);
  std::swap(*constants[1], *constants[2]);
  parts.header = header.dump();
  EXPECT_EQ(test::read_outcome(test::put_together(parts)).kind, ErrorKind::corrupt);
}

TEST(HostileGraph, ASectionThatNoConstantUsesIsCorrupt) {
  test::Parts parts = test::take_apart(test::bytes_of(test::tiny_bundle()));
  Json header = Json::parse(parts.header);
  Json extra = header["sections"][1];
  extra["offset"] = 128;
  header["sections"].push_back(extra);
  parts.header = header.dump();
  parts.data.insert(parts.data.end(), parts.data.begin() + 64, parts.data.begin() + 128);
  const auto outcome = test::read_outcome(test::put_together(parts));
  EXPECT_EQ(outcome.kind, ErrorKind::corrupt);
  EXPECT_NE(outcome.message.find("section 2 belongs to no constant"), std::string::npos)
      << outcome.message;
}

}  // namespace
}  // namespace assay
