// verify() names every check, and the one that fails.
#include <limits>

#include "bundle/tiny_bundle.h"

namespace assay {
namespace {

std::vector<bundle::Check> verify(const test::Bytes& file) {
  const auto path = test::temporary("verify.assay");
  test::put_file(path, file);
  return bundle::verify(path);
}

TEST(Verify, AllChecksOfAGoodBundlePass) {
  const auto checks = verify(test::bytes_of(test::tiny_bundle()));
  std::vector<std::string> names;
  for (const auto& check : checks) {
    EXPECT_TRUE(check.passed()) << check.name << ": " << check.detail;
    EXPECT_FALSE(check.detail.empty());
    names.push_back(check.name);
  }
  const std::vector<std::string> expected = {"preamble", "file size",     "header checksum",
                                             "header",   "section table", "section checksums",
                                             "graph",    "finite weights"};
  EXPECT_EQ(names, expected);
}

TEST(Verify, TheFirstFailureEndsTheListAndCarriesItsKind) {
  test::Bytes file = test::bytes_of(test::tiny_bundle());
  const std::size_t bias = file.size() - 64;
  file[bias] ^= std::byte{1};
  const auto checks = verify(file);
  ASSERT_EQ(checks.size(), 6u);
  EXPECT_EQ(checks.back().name, "section checksums");
  EXPECT_EQ(checks.back().failure, ErrorKind::corrupt);
  EXPECT_TRUE(checks[4].passed());
}

TEST(Verify, ANewerVersionIsUnsupported) {
  test::Bytes file = test::bytes_of(test::tiny_bundle());
  auto preamble = bundle::decode_preamble(file);
  preamble.version = 9;
  const auto begin = bundle::encode(preamble);
  std::copy(begin.begin(), begin.end(), file.begin());
  const auto checks = verify(file);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].failure, ErrorKind::unsupported);
}

TEST(Verify, AWeightThatIsNotFiniteIsNamed) {
  bundle::Bundle broken = test::tiny_bundle();
  graph::Graph graph = *broken.graph;
  for (graph::Value& value : graph.values)
    if (value.name == "head.bias")
      value.constant = graph::make_constant({0, std::numeric_limits<float>::infinity(), 0});
  broken.graph = std::make_shared<const graph::Graph>(graph);
  const auto checks = verify(test::bytes_of(broken));
  ASSERT_EQ(checks.size(), 8u);
  EXPECT_EQ(checks.back().failure, ErrorKind::corrupt);
  EXPECT_NE(checks.back().detail.find("head.bias"), std::string::npos) << checks.back().detail;
}

TEST(Verify, AMissingFileThrows) {
  EXPECT_THROW((void)bundle::verify(test::temporary("absent.assay")), Error);
}

}  // namespace
}  // namespace assay
