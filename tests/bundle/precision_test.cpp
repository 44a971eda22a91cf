// Bundles whose products are narrow: written, read, and refused where their parts disagree.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "bundle/tiny_bundle.h"
#include "graph/serialize.h"
#include "quant/quantize.h"

namespace assay {
namespace {

bundle::Bundle narrow_bundle(const std::string& precision) {
  bundle::Bundle bundle = test::tiny_bundle();
  bundle.precision = precision;
  const auto at = *graph::precision_from_name(precision);
  if (precision == "int8") {
    quant::Calibration calibration;
    calibration.architecture = "tiny";
    calibration.graph = graph::fingerprint(*bundle.graph);
    calibration.source.observers = {"max"};
    calibration.source.images = 7;
    calibration.operands.push_back({"head", "input", {{"max", {-1, 1}}}, {}, {}});
    bundle.graph =
        std::make_shared<const graph::Graph>(quant::quantize(*bundle.graph, at, &calibration));
    bundle.provenance.calibration = calibration.source;
  } else {
    bundle.graph =
        std::make_shared<const graph::Graph>(quant::quantize(*bundle.graph, at, nullptr));
  }
  return bundle;
}

TEST(PrecisionBundle, ComesBackTheSame) {
  for (const char* precision : {"bf16", "int8"}) {
    const bundle::Bundle written = narrow_bundle(precision);
    const test::Bytes file = test::bytes_of(written);
    EXPECT_EQ(file, test::bytes_of(narrow_bundle(precision)));
    const auto path = test::temporary("narrow.assay");
    test::put_file(path, file);
    const bundle::Bundle read = bundle::read(path);
    EXPECT_EQ(read.precision, precision);
    EXPECT_EQ(read.provenance.calibration, written.provenance.calibration);
    EXPECT_EQ(graph::fingerprint(*read.graph), graph::fingerprint(*written.graph));
    EXPECT_EQ(test::bytes_of(read), file);
    for (const bundle::Check& check : bundle::verify(path)) {
      EXPECT_TRUE(check.passed()) << check.name << check.detail;
    }
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

TEST(PrecisionBundle, RefusesPartsThatDisagree) {
  const auto claim = [](const char* precision) {
    return [precision](Json& h) { h["model"]["precision"] = precision; };
  };
  expect_refused("bf16", claim("fp32"), "header.features");
  expect_refused("bf16", claim("int8"), "calibration is missing");
  expect_refused("int8", claim("bf16"), "calibration is there");
  expect_refused("bf16", claim("fp8"), "fp32, bf16 and int8", ErrorKind::unsupported);
  expect_refused(
      "bf16",
      [](Json& h) {
        h["features"] = Json::array({"precision", "recipe"});
      },
      "recipe", ErrorKind::unsupported);
  expect_refused(
      "int8",
      [](Json& h) {
        h["model"]["precision"] = "bf16";
        h["provenance"].erase("calibration");
      },
      "is I8, but the precision bf16 stores F32 and BF16");
  expect_refused(
      "bf16",
      [](Json& h) {
        h["model"]["precision"] = "fp32";
        h["features"] = Json::array();
      },
      "is BF16, but the precision fp32 stores F32");
  expect_refused(
      "bf16",
      [](Json& h) {
        h["model"]["precision"] = "int8";
        h["provenance"]["calibration"] = {
            {"observer", "max"}, {"images", 1}, {"stride", 1}, {"offset", 0}, {"limit", 0}};
      },
      "is BF16, but the precision int8 stores F32 and I8");
  expect_refused(
      "int8", [](Json& h) { h["graph"]["nodes"][1]["input_scale"] = 0; }, "head");
  expect_refused(
      "int8", [](Json& h) { h["provenance"]["calibration"]["images"] = 0; }, "calibration.images");
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

TEST(PrecisionBundle, AMinimalCodeIsCorrupt) {
  test::Parts parts = test::take_apart(test::bytes_of(narrow_bundle("int8")));
  Json header = Json::parse(parts.header);
  for (Json& section : header["sections"]) {
    if (section["dtype"] != "I8") continue;
    const auto offset = section["offset"].get<std::size_t>();
    parts.data[offset] = std::byte{0x80};
    const auto bytes = std::span(parts.data).subspan(offset, section["size"].get<std::size_t>());
    section["xxh3"] = fmt::format("{:016x}", xxh3_64(bytes));
  }
  parts.header = header.dump();
  const test::Outcome outcome = test::read_outcome(test::put_together(parts));
  EXPECT_EQ(outcome.kind, ErrorKind::corrupt);
  EXPECT_THAT(outcome.message, testing::HasSubstr("holds -128"));
}

}  // namespace
}  // namespace assay
