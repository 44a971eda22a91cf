#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/backend.h"
#include "graph/toy.h"

namespace assay::backend {
namespace {

using graph::error_of;

TEST(Target, NamesABackendAndItsDevice) {
  EXPECT_EQ(parse_target("cpu").backend, "cpu");
  EXPECT_EQ(parse_target("reference").backend, "reference");
  EXPECT_EQ(parse_target("cuda").device, 0);
  EXPECT_EQ(parse_target("cuda:3").backend, "cuda");
  EXPECT_EQ(parse_target("cuda:3").device, 3);
}

TEST(Target, RefusesEverythingElse) {
  for (const char* text : {"", "gpu", "CPU", "cpu:0", "reference:1", "cuda:", "cuda:x", "cuda:-1",
                           "cuda:1x", "cuda:64", "cuda:99999999999", " cpu"}) {
    EXPECT_EQ(error_of([&] { parse_target(text); }).first, ErrorKind::bad_input) << text;
  }
}

std::shared_ptr<const graph::Graph> small_graph() {
  graph::Toy toy(4, 4);
  return std::make_shared<const graph::Graph>(toy.finish(toy.conv("conv", toy.input(), 3)));
}

TEST(Lower, RefusesCudaWhereItIsNotBuilt) {
  const std::vector<std::string_view> built = built_backends();
  if (std::ranges::find(built, "cuda") != built.end()) GTEST_SKIP() << "it is built";
  const auto [kind, message] = error_of([] { lower(small_graph(), {"cuda", 0}, {}); });
  EXPECT_EQ(kind, ErrorKind::unsupported);
  EXPECT_THAT(message, testing::HasSubstr("no CUDA backend"));
}

TEST(Lower, RefusesOptionsOutOfRange) {
  const auto kind_of = [](int level, int batch, int threads) {
    const LowerOptions options{level, batch, threads, {}};
    return error_of([&] { lower(small_graph(), {"reference", 0}, options); }).first;
  };
  EXPECT_EQ(kind_of(2, 1, 0), ErrorKind::unsupported);
  EXPECT_EQ(kind_of(-1, 1, 0), ErrorKind::unsupported);
  EXPECT_EQ(kind_of(1, 0, 0), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(1, 1 << 30, 0), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(1, 1, -1), ErrorKind::bad_input);
}

TEST(Lower, RefusesAGraphThatContradictsItself) {
  graph::Graph graph = *small_graph();
  graph.nodes[0].inputs[0] = 99;
  const auto shared = std::make_shared<const graph::Graph>(graph);
  EXPECT_EQ(error_of([&] { lower(shared, {"reference", 0}, {}); }).first, ErrorKind::corrupt);
}

}  // namespace
}  // namespace assay::backend
