/// What the cuda backend refuses, with a device and without one, and what holds of every call.
#include <gmock/gmock.h>

#include <cstring>

#include "backend/cpu_narrow_graph.h"
#include "backend/cuda_support.h"

namespace assay::backend::cuda {
namespace {

using graph::error_of;
using testing::HasSubstr;

constexpr int kNoSuchDevice = 63;  // parse_target's last

std::shared_ptr<const graph::Graph> small_graph() {
  graph::Toy toy(4, 5);
  return std::make_shared<const graph::Graph>(toy.finish(toy.conv("conv", toy.input(), 3)));
}

TEST(Cuda, IsABackendOfThisBuild) { EXPECT_THAT(built_backends(), testing::Contains("cuda")); }

TEST(Cuda, RefusesADeviceThatIsNotThere) {
  const auto why = why_unavailable(kNoSuchDevice);
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(*why, HasSubstr("no CUDA device"));
  const auto [kind, message] = error_of([] {
    backend::lower(small_graph(), {"cuda", kNoSuchDevice}, {});
  });
  EXPECT_EQ(kind, ErrorKind::unsupported);
  EXPECT_THAT(message, HasSubstr(*why));
}

TEST(Cuda, RefusesToLowerWithoutADevice) {
  const auto why = why_unavailable(0);
  if (!why) GTEST_SKIP() << "skipped: there is a CUDA device";
  const auto [kind, message] = error_of([] { backend::lower(small_graph(), {"cuda", 0}, {}); });
  EXPECT_EQ(kind, ErrorKind::unsupported);
  EXPECT_THAT(message, HasSubstr(*why));
}

TEST(Cuda, RefusesWhatEveryBackendRefuses) {
  LowerOptions tuned;
  tuned.tactics = {{"conv", "fastest"}};
  EXPECT_EQ(error_of([&] {
              backend::lower(small_graph(), {"cuda", 0}, tuned);
            }).first,
            ErrorKind::bad_input);
  graph::Graph broken = *small_graph();
  broken.nodes[0].inputs[0] = 99;
  const auto shared = std::make_shared<const graph::Graph>(broken);
  EXPECT_EQ(error_of([&] { backend::lower(shared, {"cuda", 0}, {}); }).first, ErrorKind::corrupt);
}

using CudaOnDevice = OnDevice;

TEST_F(CudaOnDevice, RefusesInt8NamingTheLayer) {
  graph::Graph graph = *small_graph();
  graph::make_int8(graph, "conv", {0.0078125F, 128});
  const auto shared = std::make_shared<const graph::Graph>(std::move(graph));
  for (const int level : {0, 1}) {
    LowerOptions options;
    options.optimization_level = level;
    const auto [kind, message] = error_of([&] { backend::lower(shared, {"cuda", 0}, options); });
    EXPECT_EQ(kind, ErrorKind::unsupported);
    EXPECT_THAT(message, HasSubstr("conv"));
    EXPECT_THAT(message, HasSubstr("int8"));
  }
}

std::vector<float> logits_of(Session& session, const Input& input, int batch, std::size_t classes) {
  std::vector<float> logits(classes * static_cast<std::size_t>(batch),
                            std::numeric_limits<float>::quiet_NaN());
  session.run(input, batch, {logits, {}});
  return logits;
}

/// A transformer block whose logits are all of its tokens.
struct Block {
  std::shared_ptr<const graph::Graph> graph =
      std::make_shared<const graph::Graph>(cpu::narrow_transformer_block(graph::Precision::bf16));
  std::size_t pixels = 5 * 9 * 3;
  std::size_t classes = 45 * 24;
};

TEST_F(CudaOnDevice, CallsOfOneBatchAreTheSameBits) {
  const Block block;
  LowerOptions options;
  options.max_batch = 3;
  const auto session = backend::lower(block.graph, {"cuda", 0}, options)->make_session();
  const std::vector<float> input = fp16_numbers(3 * block.pixels, 5);
  const std::vector<float> first = logits_of(*session, {{}, input}, 3, block.classes);
  const std::vector<float> other = fp16_numbers(2 * block.pixels, 6);
  for (int i = 0; i < 20; ++i) {
    logits_of(*session, {{}, other}, 2, block.classes);
    const std::vector<float> again = logits_of(*session, {{}, input}, 3, block.classes);
    ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0) << i;
  }
}

/// An image of a batch is what it is alone, but for the order of sums.
TEST_F(CudaOnDevice, ImagesOfABatchAreIndependent) {
  const Block block;
  LowerOptions options;
  options.max_batch = 37;
  const auto session = backend::lower(block.graph, {"cuda", 0}, options)->make_session();
  const std::vector<float> input = fp16_numbers(37 * block.pixels, 5);
  const std::vector<float> together = logits_of(*session, {{}, input}, 37, block.classes);
  for (const std::size_t image : {0, 1, 19, 36}) {
    const auto one = std::span(input).subspan(image * block.pixels, block.pixels);
    const std::vector<float> alone = logits_of(*session, {{}, one}, 1, block.classes);
    expect_value_close("logits", alone,
                       std::span(together).subspan(image * block.classes, block.classes),
                       {5e-3, 3e-2});
  }
}

/// Two sessions of a plan do not share what they compute in.
TEST_F(CudaOnDevice, SessionsAreIndependent) {
  const Block block;
  const auto plan = backend::lower(block.graph, {"cuda", 0}, {});
  const auto one = plan->make_session();
  const auto two = plan->make_session();
  const std::vector<float> a = fp16_numbers(block.pixels, 1);
  const std::vector<float> b = fp16_numbers(block.pixels, 2);
  const std::vector<float> first = logits_of(*one, {{}, a}, 1, block.classes);
  EXPECT_NE(first, logits_of(*two, {{}, b}, 1, block.classes));
  EXPECT_EQ(first, logits_of(*one, {{}, a}, 1, block.classes));
  EXPECT_EQ(first, logits_of(*two, {{}, a}, 1, block.classes));
}

/// (pixel / 255 - mean) / std in fp32 before the first layer.
TEST_F(CudaOnDevice, NormalizesPixels) {
  cpu::GraphMaker make(3);
  const auto graph =
      std::make_shared<const graph::Graph>(make.finish(make.linear(make.input({7, 5, 3}), 6)));
  LowerOptions options;
  options.max_batch = 2;
  options.normalization = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  std::vector<std::uint8_t> pixels(2 * 7 * 5 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(37 * i);
  const auto run = [&](const Target& target) {
    return logits_of(*backend::lower(graph, target, options)->make_session(), {pixels, {}}, 2,
                     7 * 5 * 6);
  };
  expect_value_close("logits", run({"reference", 0}), run({"cuda", 0}), kWays[0].layer);
}

TEST_F(CudaOnDevice, RefusesSpansOfTheWrongSize) {
  const auto graph = small_graph();
  const auto session = backend::lower(graph, {"cuda", 0}, {})->make_session();
  const std::vector<float> input = input_for(*graph, 1);
  std::vector<float> logits(4 * 5 * 3);
  const auto kind_of = [&](std::span<const float> tensor, int batch, std::span<float> out) {
    return error_of([&] { session->run({{}, tensor}, batch, {out, {}}); }).first;
  };
  EXPECT_EQ(kind_of(std::span(input).first(59), 1, logits), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(input, 0, logits), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(input, 2, logits), ErrorKind::bad_input);
  EXPECT_EQ(kind_of({}, 1, logits), ErrorKind::bad_input);
  EXPECT_EQ(kind_of(input, 1, std::span(logits).first(59)), ErrorKind::bad_input);
}

/// A profile has a time for each step of the plan.
TEST_F(CudaOnDevice, ProfilesEveryStep) {
  const Block block;
  const auto plan = backend::lower(block.graph, {"cuda", 0}, {});
  std::vector<double> seconds(plan->steps().size(), 0.0);
  const std::vector<float> input = fp16_numbers(block.pixels, 1);
  plan->make_session()->profile({{}, input}, 1, seconds);
  EXPECT_THAT(seconds, testing::Each(testing::Gt(0.0)));
}

}  // namespace
}  // namespace assay::backend::cuda
