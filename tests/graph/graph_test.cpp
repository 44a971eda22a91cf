#include <gtest/gtest.h>

#include <cstring>

#include "graph/toy.h"

namespace assay::graph {
namespace {

TEST(Graph, DimsAsNumbersAndText) {
  EXPECT_EQ(elements(Dims{2, 3, 4}), 24);
  EXPECT_EQ(elements(Dims{}), 1);
  EXPECT_EQ(to_string(Dims{240, 240, 3}), "[240, 240, 3]");
  EXPECT_EQ(to_string(Dims{}), "[]");
}

TEST(Graph, OutputsAreFoundByName) {
  Toy toy(2, 2);
  const ValueId x = toy.conv("conv", toy.input(), 3);
  const Graph graph = toy.finish(x);
  EXPECT_EQ(graph.output("logits"), x);
  EXPECT_EQ(error_of([&] { static_cast<void>(graph.output("features")); }).first,
            ErrorKind::not_found);
}

TEST(Constants, OwnTheirNumbers) {
  const Constant copy = [] { return make_constant({1.0F, -2.5F}); }();
  EXPECT_EQ(to_f32(copy), (std::vector<float>{1.0F, -2.5F}));
}

TEST(Constants, WidenHalfPrecisionWhereverItLies) {
  // 1.5 and -2 as fp16, at an odd address.
  const auto bytes = std::make_shared<std::vector<std::byte>>(5);
  const std::uint16_t numbers[2] = {0x3E00, 0xC000};
  std::memcpy(bytes->data() + 1, numbers, sizeof(numbers));
  const Constant constant{DType::f16, std::span(*bytes).subspan(1), bytes};
  EXPECT_EQ(to_f32(constant), (std::vector<float>{1.5F, -2.0F}));
}

TEST(Constants, RefuseIntegers) {
  const Constant constant{DType::i64, {}, nullptr};
  EXPECT_EQ(error_of([&] { to_f32(constant); }).first, ErrorKind::unsupported);
}

}  // namespace
}  // namespace assay::graph
