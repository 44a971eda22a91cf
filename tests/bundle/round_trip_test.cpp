// What is written is what is read, and it is written the same way every time.
#include <gmock/gmock.h>

#include "bundle/tiny_bundle.h"

namespace assay {
namespace {

using test::temporary;

TEST(RoundTrip, KeepsEveryField) {
  const auto path = temporary("tiny.assay");
  const bundle::Bundle written = test::tiny_bundle();
  bundle::write(written, path);
  const bundle::Bundle read = bundle::read(path);
  EXPECT_EQ(read.transform, written.transform);
  EXPECT_EQ(read.labels, written.labels);
  EXPECT_EQ(read.precision, "fp32");
  EXPECT_EQ(read.optimization_level, 1);
  EXPECT_EQ(read.max_batch, 2);
  EXPECT_EQ(read.provenance.architecture, "tiny");
  EXPECT_EQ(read.provenance.family, "test");
  EXPECT_EQ(read.provenance.revision, "r1");
  EXPECT_EQ(read.provenance.config_text, "{}");
  EXPECT_EQ(read.provenance.tool_version, "assay test");
  ASSERT_EQ(read.provenance.files.size(), 1u);
  EXPECT_EQ(read.provenance.files[0].name, "config.json");
  EXPECT_EQ(read.provenance.files[0].size, 2u);
  EXPECT_EQ(read.provenance.files[0].sha256, std::string(64, 'a'));
}

TEST(RoundTrip, KeepsTheGraphAndItsNumbers) {
  const auto path = temporary("tiny.assay");
  const bundle::Bundle written = test::tiny_bundle();
  bundle::write(written, path);
  const bundle::Bundle read = bundle::read(path);
  ASSERT_EQ(read.graph->values.size(), written.graph->values.size());
  for (std::size_t i = 0; i < read.graph->values.size(); ++i) {
    const graph::Value& value = read.graph->values[i];
    EXPECT_EQ(value.name, written.graph->values[i].name);
    EXPECT_EQ(value.dims, written.graph->values[i].dims);
    ASSERT_EQ(value.constant.has_value(), written.graph->values[i].constant.has_value());
    if (value.constant) {
      EXPECT_EQ(graph::to_f32(*value.constant), graph::to_f32(*written.graph->values[i].constant));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(value.constant->bytes.data()) % 64, 0u);
    }
  }
  ASSERT_EQ(read.graph->nodes.size(), written.graph->nodes.size());
  EXPECT_EQ(read.graph->nodes.back().name, "head");
}

TEST(RoundTrip, KeepsTransformsBitForBit) {
  bundle::Bundle written = test::tiny_bundle();
  written.transform.crop_pct = 0.1 + 0.2;
  written.transform.mean = {1e-3, 1.0 / 3, -1e-300};
  written.transform.std = {1e-30, 1, 0.229};
  written.transform.interpolation = image::Interpolation::lanczos;
  written.transform.crop_mode = image::CropMode::border;
  const auto path = temporary("tiny.assay");
  bundle::write(written, path);
  EXPECT_EQ(bundle::read(path).transform, written.transform);
}

TEST(RoundTrip, IsByteIdenticalWhenWrittenTwiceAndWhenReadAndWritten) {
  const test::Bytes first = test::bytes_of(test::tiny_bundle());
  EXPECT_EQ(first, test::bytes_of(test::tiny_bundle()));
  const auto path = temporary("tiny.assay");
  test::put_file(path, first);
  EXPECT_EQ(first, test::bytes_of(bundle::read(path)));
}

TEST(RoundTrip, AConstantOutlivesTheBundleItCameFrom) {
  const auto path = temporary("tiny.assay");
  bundle::write(test::tiny_bundle(), path);
  graph::Constant bias;
  {
    const bundle::Bundle bundle = bundle::read(path);
    for (const graph::Value& value : bundle.graph->values)
      if (value.name == "head.bias") bias = *value.constant;
  }
  std::filesystem::remove(path);
  EXPECT_THAT(graph::to_f32(bias), testing::ElementsAre(0.25F, 0, -0.25F));
}

TEST(RoundTrip, DescribeGivesTheLayout) {
  const auto path = temporary("tiny.assay");
  bundle::write(test::tiny_bundle(), path);
  const bundle::Description described = bundle::describe(path);
  EXPECT_EQ(described.format_version, 1u);
  EXPECT_EQ(described.file_bytes, std::filesystem::file_size(path));
  EXPECT_EQ(described.parameters, 12u);
  EXPECT_EQ(described.weight_bytes, 48u);
  ASSERT_EQ(described.sections.size(), 2u);
  EXPECT_EQ(described.sections[0].name, "head.weight");
  EXPECT_EQ(described.sections[1].offset, described.sections[0].offset + 64);
  EXPECT_EQ(described.sections[1].offset + 64, described.file_bytes);
}

TEST(RoundTrip, ALabelThatIsNotUtf8IsRefusedAndNothingIsWritten) {
  bundle::Bundle broken = test::tiny_bundle();
  broken.labels[1] = "\xff";
  const auto path = temporary("never.assay");
  EXPECT_THROW(bundle::write(broken, path), Error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(LooksLikeBundle, GoesByTheFirstBytes) {
  const auto path = temporary("tiny.assay");
  bundle::write(test::tiny_bundle(), path);
  EXPECT_TRUE(bundle::looks_like_bundle(path));
  EXPECT_FALSE(bundle::looks_like_bundle(path.parent_path()));
  EXPECT_FALSE(bundle::looks_like_bundle(temporary("absent")));
  test::put_file(path, test::Bytes(4));
  EXPECT_FALSE(bundle::looks_like_bundle(path));
}

}  // namespace
}  // namespace assay
