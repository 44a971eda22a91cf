/// The example networks on the cuda backend against the reference backend, step by step.
#include <filesystem>

#include "backend/cuda_support.h"
#include "checkpoint/checkpoint.h"
#include "families/families.h"
#include "graph/passes.h"

namespace assay::backend::cuda {
namespace {

struct Case {
  std::string architecture;
  int height;
  int width;
};

class CudaModels : public OnDevice, public testing::WithParamInterface<Case> {};

/// The source tree's, or where this program was carried to another machine, the working folder's.
std::filesystem::path examples() {
  const std::filesystem::path source = std::filesystem::path(ASSAY_SOURCE_DIR) / "examples";
  return std::filesystem::exists(source) ? source : "examples";
}

graph::Graph network(const Case& of) {
  const auto opened = checkpoint::open(examples() / (of.architecture + ".fashion_mnist"));
  graph::Graph graph = families::build({opened.config, opened.weights, of.height, of.width});
  graph::optimize(graph, 1);
  for (graph::Value& value : graph.values) {
    if (value.constant) value.constant = graph::make_constant(graph::to_f32(*value.constant));
  }
  return graph;
}

/// What the recipe fp8-vit-max has in FP8.
bool is_wide_product(graph::Role role) {
  return role == graph::Role::qkv || role == graph::Role::fc1 || role == graph::Role::fc2 ||
         role == graph::Role::key || role == graph::Role::value;
}

/// Which layers the way's format is for: at fp8 and nvfp4 the linear ones, the rest is fp16.
graph::Graph quantized(const graph::Graph& wide, const Way& way, const Trace& values) {
  constexpr std::size_t kFp16 = 2;
  graph::Graph graph = wide;
  for (const std::string& name : layers_of(wide)) {
    const graph::Node& node = graph::node_named(graph, name);
    const bool linear = std::holds_alternative<graph::Linear>(node.op);
    const bool takes = way.precision == graph::Precision::fp8     ? is_wide_product(node.role)
                       : way.precision == graph::Precision::nvfp4 ? linear
                                                                  : true;
    narrow(graph, name, takes ? way : kWays[kFp16], values);
  }
  graph::verify(graph);
  return graph;
}

void expect_steps_close(const Trace& want, const Trace& got, const Tolerance& tolerance) {
  double worst = 0;
  for (const auto& [name, numbers] : got) {
    const std::vector<float>& expected = want.at(name);
    ASSERT_EQ(numbers.size(), expected.size()) << name;
    double off = 0;
    double size = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double difference = static_cast<double>(numbers[i]) - static_cast<double>(expected[i]);
      off += difference * difference;
      size += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    }
    const double error = std::sqrt(off / size);
    ASSERT_LE(error, tolerance.rms) << name;
    worst = std::max(worst, error);
  }
  testing::Test::RecordProperty("worst", std::to_string(worst));
}

/// Some 200 steps, each off by a rounding of its own that the norms between them pass on at about
/// its own size: the tolerances of kWays hold, as errors add up as random ones do. A shifted row, a
/// wrong epsilon or a missing residual is off by orders of magnitude more.
TEST_P(CudaModels, AgreeWithTheReferenceStepByStep) {
  const graph::Graph wide = network(GetParam());
  const std::vector<float> input = input_for(wide, 1);
  const Trace values =
      trace_of(std::make_shared<const graph::Graph>(wide), {"reference", 0}, 0, 1, input);
  for (const Way& way : kWays) {
    const auto graph = std::make_shared<const graph::Graph>(quantized(wide, way, values));
    const Trace want = way.precision == graph::Precision::fp32
                           ? values
                           : trace_of(graph, {"reference", 0}, 0, 1, input);
    for (const int level : {0, 1}) {
      SCOPED_TRACE(testing::Message() << way.name << ", level " << level);
      const Trace got = trace_of(graph, {"cuda", 0}, level, 1, input);
      EXPECT_GT(got.size(), level == 0 ? graph->nodes.size() / 2 : 10U);
      expect_steps_close(want, got, way.network);
    }
  }
}

// MobileViT at a size that its patches do not divide: the maps are stretched and back.
INSTANTIATE_TEST_SUITE_P(Examples, CudaModels,
                         testing::Values(Case{"crossvit_9_240", 240, 240},
                                         Case{"mobilevit_xxs", 256, 256},
                                         Case{"mobilevit_xs", 120, 88},
                                         Case{"mobilevit_s", 136, 136}),
                         [](const auto& test) { return test.param.architecture; });

}  // namespace
}  // namespace assay::backend::cuda
