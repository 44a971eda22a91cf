// Bundles whose products are narrow: written, read, and refused where their parts disagree.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "bundle/narrow_bundle.h"

namespace assay {
namespace {

using test::narrow_bundle;

TEST(PrecisionBundle, ComesBackTheSame) {
  for (const char* precision : {"fp16", "bf16", "int8", "fp8", "nvfp4"}) {
    const bundle::Bundle written = narrow_bundle(precision);
    const test::Bytes file = test::bytes_of(written);
    EXPECT_EQ(file, test::bytes_of(narrow_bundle(precision)));
    const auto path = test::temporary("narrow.assay");
    test::put_file(path, file);
    const bundle::Bundle read = bundle::read(path);
    EXPECT_EQ(read.precision, precision);
    EXPECT_EQ(read.provenance.calibration, written.provenance.calibration);
    EXPECT_EQ(read.provenance.recipe, written.provenance.recipe);
    EXPECT_EQ(graph::fingerprint(*read.graph), graph::fingerprint(*written.graph));
    EXPECT_EQ(test::bytes_of(read), file);
    for (const bundle::Check& check : bundle::verify(path)) {
      EXPECT_TRUE(check.passed()) << check.name << check.detail;
    }
  }
}

TEST(PrecisionBundle, BundlesFromBeforeRecipesAreRead) {
  for (const char* precision : {"bf16", "int8"}) {
    test::Parts parts = test::take_apart(test::bytes_of(narrow_bundle(precision)));
    Json header = Json::parse(parts.header);
    header["features"] = {"precision"};
    header["provenance"].erase("recipe");
    if (header["provenance"].contains("calibration")) {
      header["provenance"]["calibration"].erase("observers");
      header["provenance"]["calibration"]["observer"] = "max";
    }
    parts.header = header.dump();
    const test::Outcome outcome = test::read_outcome(test::put_together(parts));
    EXPECT_FALSE(outcome.kind) << precision << ": " << outcome.message;
  }
}

/// Changes the header of a good bundle and expects a refusal in these words.
void expect_refused(const std::string& precision, const std::function<void(Json&)>& tell,
                    const std::string& words, ErrorKind kind = ErrorKind::corrupt) {
  test::Parts parts = test::take_apart(test::bytes_of(narrow_bundle(precision)));
  Json header = Json::parse(parts.header);
  tell(header);
  parts.header = header.dump();
  const test::Outcome outcome = test::read_outcome(test::put_together(parts));
  ASSERT_TRUE(outcome.kind) << words;
  EXPECT_EQ(*outcome.kind, kind) << outcome.message;
  EXPECT_THAT(outcome.message, testing::HasSubstr(words));
}

/// Says that the bundle is of another precision, and has a recipe that says so too.
std::function<void(Json&)> claim(const std::string& precision) {
  return [precision](Json& h) {
    h["model"]["precision"] = precision;
    h["provenance"]["recipe"] = {{"name", "tiny-" + precision},
                                 {"toml", test::tiny_recipe(precision)}};
    const bool calibrated = precision == "int8" || precision == "fp8";
    h["provenance"].erase("calibration");
    if (calibrated) {
      h["provenance"]["calibration"] = {
          {"observers", {"max"}}, {"images", 1}, {"stride", 1}, {"offset", 0}, {"limit", 0}};
    }
  };
}

TEST(PrecisionBundle, RefusesPartsThatDisagree) {
  const auto precision = [](const char* name) {
    return [name](Json& h) { h["model"]["precision"] = name; };
  };
  expect_refused("bf16", precision("fp32"), "header.features");
  expect_refused("bf16", precision("int8"), "recipe makes bf16, but the precision is int8");
  expect_refused("int8", precision("fp8"), "recipe makes int8, but the precision is fp8");
  expect_refused("bf16", precision("fp17"), "fp32, fp16, bf16, int8, fp8 and nvfp4",
                 ErrorKind::unsupported);
  expect_refused(
      "bf16",
      [](Json& h) {
        h["features"] = Json::array({"precision", "recipe", "roles"});
      },
      "roles", ErrorKind::unsupported);
  expect_refused(
      "fp8",
      [](Json& h) {
        h["features"] = {"precision"};
        h["provenance"].erase("recipe");
      },
      "recipe is missing, but the precision is fp8");
  expect_refused(
      "fp8", [](Json& h) { h["features"] = {"precision"}; }, "header.features is [\"precision\"]");
  expect_refused(
      "fp8", [](Json& h) { h["provenance"].erase("calibration"); },
      "calibration is missing, but the recipe tiny-fp8 needs one");
  expect_refused(
      "int8", [](Json& h) { h["graph"]["nodes"][1]["input_scale"] = 0; }, "head");
  expect_refused(
      "int8", [](Json& h) { h["provenance"]["calibration"]["images"] = 0; }, "calibration.images");
  expect_refused(
      "int8", [](Json& h) { h["provenance"]["calibration"]["observers"] = {1}; }, "observers");
}

TEST(PrecisionBundle, RefusesSectionsOfATypeThatItsPrecisionHasNot) {
  expect_refused("int8", claim("bf16"), "is I8, but the precision bf16 stores F32, F16, BF16");
  expect_refused("bf16", claim("fp16"), "is BF16, but the precision fp16 stores F32, F16");
  expect_refused("fp8", claim("int8"), "is F8_E4M3, but the precision int8 stores");
  expect_refused("nvfp4", claim("fp8"), "is F4, but the precision fp8 stores");
  expect_refused(
      "bf16",
      [](Json& h) {
        h["model"]["precision"] = "fp32";
        h["features"] = Json::array();
        h["provenance"].erase("recipe");
      },
      "is BF16, but the precision fp32 stores F32");
}

TEST(PrecisionBundle, RefusesARecipeThatIsNone) {
  const auto recipe = [](const char* key, const Json& value) {
    return [key, value](Json& h) { h["provenance"]["recipe"][key] = value; };
  };
  expect_refused("bf16", recipe("toml", "name ="), "header.provenance.recipe.toml:1: not TOML");
  expect_refused("bf16", recipe("toml", test::tiny_recipe("bf16") + "colour = 1\n"), "colour");
  expect_refused("bf16", recipe("toml", 3), "recipe.toml is number");
  expect_refused("bf16", recipe("toml", std::string(quant::kMaxRecipeBytes + 1, ' ')), "limit");
  expect_refused("bf16", recipe("name", "other"), "is \"other\", but its text says \"tiny-bf16\"");
  expect_refused("bf16", recipe("size", 3), "recipe.size is not a field");
}

TEST(PrecisionBundle, ANodeNarrowerThanTheBundleIsCorrupt) {
  bundle::Bundle bundle = test::tiny_bundle();
  graph::Graph graph = *bundle.graph;
  graph.nodes[1].precision = graph::Precision::bf16;  // its weight stays F32
  bundle.graph = std::make_shared<const graph::Graph>(graph);
  const test::Outcome outcome = test::read_outcome(test::bytes_of(bundle));
  EXPECT_EQ(outcome.kind, ErrorKind::corrupt);
  EXPECT_THAT(outcome.message, testing::HasSubstr("\"head\" is bf16, but the precision is fp32"));
}

/// Writes `code` over the first byte of the section of type `dtype`, its checksum made right.
test::Outcome with_first_code(const std::string& precision, const char* dtype, int code) {
  test::Parts parts = test::take_apart(test::bytes_of(narrow_bundle(precision)));
  Json header = Json::parse(parts.header);
  for (Json& section : header["sections"]) {
    if (section["dtype"] != dtype) continue;
    const auto offset = section["offset"].get<std::size_t>();
    parts.data[offset] = static_cast<std::byte>(code);
    const auto bytes = std::span(parts.data).subspan(offset, section["size"].get<std::size_t>());
    section["xxh3"] = fmt::format("{:016x}", xxh3_64(bytes));
  }
  parts.header = header.dump();
  return test::read_outcome(test::put_together(parts));
}

TEST(PrecisionBundle, CodesThatNoWriterMakesAreCorrupt) {
  const auto refused = [](const char* precision, const char* dtype, int code) {
    const test::Outcome outcome = with_first_code(precision, dtype, code);
    EXPECT_EQ(outcome.kind, ErrorKind::corrupt) << precision;
    return outcome.message;
  };
  EXPECT_THAT(refused("int8", "I8", 0x80), testing::HasSubstr("holds -128"));
  EXPECT_THAT(refused("fp8", "F8_E4M3", 0x7F), testing::HasSubstr("holds NaN"));
  EXPECT_THAT(refused("nvfp4", "F8_E4M3", 0xFF), testing::HasSubstr("block scales"));
  EXPECT_THAT(refused("nvfp4", "F8_E4M3", 0x81), testing::HasSubstr("0 or more"));
  EXPECT_FALSE(with_first_code("nvfp4", "F4", 0xFF).kind) << "every E2M1 code is a number";
}

}  // namespace
}  // namespace assay
