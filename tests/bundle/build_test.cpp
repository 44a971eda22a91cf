// From a checkpoint to a bundle: what is refused, and what comes out.
#include <gmock/gmock.h>

#include <limits>

#include "assay/assay.h"
#include "bundle/tiny_bundle.h"
#include "checkpoint/checkpoint.h"

namespace assay {
namespace {

const checkpoint::Checkpoint& example(const std::string& name) {
  static std::map<std::string, checkpoint::Checkpoint> opened;
  auto found = opened.find(name);
  if (found == opened.end())
    found = opened
                .emplace(name, checkpoint::open(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                                "examples" / (name + ".fashion_mnist")))
                .first;
  return found->second;
}

test::Outcome outcome_of(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
}

test::Outcome build_outcome(const std::string& name, const bundle::BuildOptions& options) {
  return outcome_of([&] { (void)bundle::build(example(name), options); });
}

TEST(Build, GivesTheSameBytesTwice) {
  for (const char* name : {"mobilevit_xxs", "crossvit_9_240"}) {
    const auto first = test::bytes_of(bundle::build(example(name), {}));
    EXPECT_EQ(first, test::bytes_of(bundle::build(example(name), {}))) << name;
  }
}

TEST(Build, KeepsNoPathOfThisMachine) {
  const auto parts = test::take_apart(test::bytes_of(bundle::build(example("mobilevit_xxs"), {})));
  EXPECT_EQ(parts.header.find(ASSAY_SOURCE_DIR), std::string::npos);
  EXPECT_EQ(parts.header.find(std::filesystem::temp_directory_path().string() + "/"),
            std::string::npos);
}

TEST(Build, TakesItsFactsFromTheCheckpoint) {
  const bundle::Bundle bundle = bundle::build(example("mobilevit_xxs"), {});
  EXPECT_EQ(bundle.provenance.architecture, "mobilevit_xxs");
  EXPECT_EQ(bundle.provenance.family, "mobilevit");
  EXPECT_EQ(bundle.provenance.config_text, example("mobilevit_xxs").config.text);
  EXPECT_EQ(bundle.provenance.tool_version, "assay " + std::string(version()));
  EXPECT_EQ(bundle.labels.size(), 10u);
  EXPECT_EQ(bundle.labels[9], "ankle boot");
  EXPECT_EQ(bundle.transform.crop_pct, 0.9);
  ASSERT_EQ(bundle.provenance.files.size(), 2u);
  EXPECT_EQ(bundle.provenance.files[0].sha256.size(), 64u);
}

TEST(Build, StoresEveryConstantAsF32AtEveryLevel) {
  for (const int level : {0, 1}) {
    bundle::BuildOptions options;
    options.optimization_level = level;
    const bundle::Bundle bundle = bundle::build(example("mobilevit_xxs"), options);
    EXPECT_EQ(bundle.optimization_level, level);
    for (const graph::Value& value : bundle.graph->values)
      EXPECT_TRUE(!value.constant || value.constant->dtype == DType::f32) << value.name;
    const auto path = test::temporary("level.assay");
    bundle::write(bundle, path);
    EXPECT_EQ(bundle::read(path).optimization_level, level);
  }
}

TEST(Build, Level1StoresFewerStepsThanLevel0) {
  bundle::BuildOptions plain;
  plain.optimization_level = 0;
  EXPECT_LT(bundle::build(example("mobilevit_xxs"), {}).graph->nodes.size(),
            bundle::build(example("mobilevit_xxs"), plain).graph->nodes.size());
}

TEST(Build, RefusesACalibrationThatDoesNotFitThePrecision) {
  bundle::BuildOptions options;
  options.precision = "int8";
  auto outcome = build_outcome("mobilevit_xxs", options);
  EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
  EXPECT_THAT(outcome.message, testing::HasSubstr("'assay calibrate'"));
  options.calibration = quant::Calibration{"mobilevit_xxs", "0", {{"max"}, 1, 1, 0, 0}, {}};
  EXPECT_THAT(build_outcome("mobilevit_xxs", options).message,
              testing::HasSubstr("another network"));
  for (const char* precision : {"", "fp32", "fp16", "bf16", "nvfp4"}) {
    options.precision = precision;
    outcome = build_outcome("mobilevit_xxs", options);
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
    EXPECT_THAT(outcome.message, testing::HasSubstr("takes no calibration"));
  }
}

TEST(Build, RefusesARecipeOfAnotherPrecision) {
  bundle::BuildOptions options;
  options.precision = "bf16";
  options.recipe = quant::find_recipe("nvfp4-weights");
  const auto outcome = build_outcome("mobilevit_xxs", options);
  EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
  EXPECT_THAT(outcome.message, testing::HasSubstr("nvfp4-weights, which makes nvfp4"));
}

TEST(Build, StoresTheRecipeAndWeightsAsItSays) {
  const std::size_t wide = test::bytes_of(bundle::build(example("mobilevit_xxs"), {})).size();
  for (const auto& [precision, share] :
       {std::pair("fp16", 0.56), std::pair("bf16", 0.56), std::pair("nvfp4", 0.52)}) {
    bundle::BuildOptions options;
    options.precision = precision;
    const bundle::Bundle bundle = bundle::build(example("mobilevit_xxs"), options);
    EXPECT_EQ(bundle.precision, precision);
    EXPECT_EQ(bundle.provenance.recipe,
              quant::default_recipe(*graph::precision_from_name(precision)));
    EXPECT_FALSE(bundle.provenance.calibration);
    const test::Bytes bytes = test::bytes_of(bundle);
    EXPECT_LT(static_cast<double>(bytes.size()), share * static_cast<double>(wide)) << precision;
    EXPECT_EQ(bytes, test::bytes_of(bundle::build(example("mobilevit_xxs"), options)));
  }
  bundle::BuildOptions options;
  options.recipe = quant::find_recipe("fp16");
  EXPECT_EQ(bundle::build(example("mobilevit_xxs"), options).precision, "fp16");
  EXPECT_FALSE(bundle::build(example("mobilevit_xxs"), {}).provenance.recipe);
}

TEST(Build, EveryShippedRecipeFitsBothFamilies) {
  for (const char* name : {"mobilevit_xxs", "crossvit_9_240"}) {
    const bundle::Bundle wide = bundle::build(example(name), {});
    for (const quant::BuiltinRecipe& builtin : quant::builtin_recipes()) {
      const quant::Recipe recipe = quant::find_recipe(std::string(builtin.name));
      for (const quant::Rule& rule : recipe.rules) {
        const bool found = std::ranges::any_of(
            wide.graph->nodes, [&](const graph::Node& node) { return quant::matches(rule, node); });
        EXPECT_TRUE(found || rule.optional) << builtin.name << " on " << name;
      }
    }
  }
}

TEST(Build, RefusesWhatDoesNotExistYet) {
  bundle::BuildOptions options;
  options.precision = "fp17";
  auto outcome = build_outcome("mobilevit_xxs", options);
  EXPECT_EQ(outcome.kind, ErrorKind::unsupported);
  EXPECT_THAT(outcome.message, testing::HasSubstr("fp32, fp16, bf16, int8, fp8, nvfp4"));
  for (const int level : {2, 4, 5}) {
    options = {};
    options.optimization_level = level;
    outcome = build_outcome("mobilevit_xxs", options);
    EXPECT_EQ(outcome.kind, ErrorKind::unsupported) << level;
    EXPECT_THAT(outcome.message, testing::HasSubstr("use 0, 1 or 3"));
  }
  for (const int level : {-1, 6}) {
    options = {};
    options.optimization_level = level;
    EXPECT_EQ(build_outcome("mobilevit_xxs", options).kind, ErrorKind::bad_input) << level;
  }
  for (const int batch : {0, -1, bundle::kMaxBatch + 1}) {
    options = {};
    options.max_batch = batch;
    EXPECT_EQ(build_outcome("mobilevit_xxs", options).kind, ErrorKind::bad_input) << batch;
  }
}

TEST(Build, TakesAnotherInputSizeWhereItIsNotFixed) {
  bundle::BuildOptions options;
  options.input_height = 192;
  options.input_width = 224;
  const bundle::Bundle bundle = bundle::build(example("mobilevit_xxs"), options);
  EXPECT_EQ(bundle.transform.input_height, 192);
  EXPECT_EQ(bundle.transform.input_width, 224);
  EXPECT_THAT(bundle.graph->value(bundle.graph->input).dims, testing::ElementsAre(192, 224, 3));
  const auto outcome = build_outcome("crossvit_9_240", options);
  EXPECT_EQ(outcome.kind, ErrorKind::unsupported);
  EXPECT_THAT(outcome.message, testing::HasSubstr("fixed_input_size"));
}

TEST(Build, RefusesHalfAnInputSize) {
  bundle::BuildOptions options;
  options.input_height = 192;
  EXPECT_EQ(build_outcome("mobilevit_xxs", options).kind, ErrorKind::bad_input);
  options.input_width = -1;
  EXPECT_EQ(build_outcome("mobilevit_xxs", options).kind, ErrorKind::bad_input);
  options.input_width = std::int64_t{1} << 40;
  EXPECT_EQ(build_outcome("mobilevit_xxs", options).kind, ErrorKind::bad_input);
}

/// What a build says where every number of `tensor` is `number`.
test::Outcome outcome_with(const std::string& tensor, float number, int level = 1) {
  checkpoint::Checkpoint changed = example("mobilevit_xxs");
  checkpoint::Weights weights;
  for (const auto& [name, view] : changed.weights.all()) {
    checkpoint::TensorView copy = view;
    if (name == tensor) {
      const auto numbers = std::make_shared<std::vector<float>>(view.elements(), number);
      copy.dtype = DType::f32;
      copy.bytes = std::as_bytes(std::span(*numbers));
      copy.owner = numbers;
    }
    weights.add(std::move(copy));
  }
  changed.weights = std::move(weights);
  bundle::BuildOptions options;
  options.optimization_level = level;
  return outcome_of([&] { (void)bundle::build(changed, options); });
}

TEST(Build, RefusesWeightsThatAreNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const int level : {0, 1}) {
    for (const auto& [tensor, number] :
         {std::pair("head.fc.bias", kNan), std::pair("stem.conv.weight", kInfinity),
          std::pair("stem.bn.running_var", -2.0F)}) {
      const auto outcome = outcome_with(tensor, number, level);
      EXPECT_EQ(outcome.kind, ErrorKind::bad_input) << tensor << " at level " << level;
      EXPECT_THAT(outcome.message, testing::HasSubstr("model.safetensors: "));
      EXPECT_THAT(outcome.message, testing::HasSubstr(tensor));
    }
  }
  EXPECT_EQ(outcome_with("stem.bn.running_var", 0).kind, std::nullopt);
}

TEST(Build, RefusesWeightsThatOverflowWhenMerged) {
  const auto outcome = outcome_with("stem.bn.weight", 3e38F);
  EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
  EXPECT_THAT(outcome.message, testing::HasSubstr("layer 'stem.conv'"));
  EXPECT_EQ(outcome_with("stem.bn.weight", 3e38F, 0).kind, std::nullopt);
}

TEST(Build, NamesTheCheckpointWhoseTensorsDoNotFit) {
  checkpoint::Checkpoint changed = example("mobilevit_xxs");
  changed.weights = {};
  const auto outcome = outcome_of([&] { (void)bundle::build(changed, {}); });
  EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
  EXPECT_THAT(outcome.message,
              testing::StartsWith(changed.folder.string() + ": the checkpoint's tensors"));
}

TEST(Build, NamesTheCheckpointWhoseArchitectureIsUnknown) {
  checkpoint::Checkpoint changed = example("mobilevit_xxs");
  changed.config.architecture = "resnet50";
  const auto outcome = outcome_of([&] { (void)bundle::build(changed, {}); });
  EXPECT_EQ(outcome.kind, ErrorKind::unsupported);
  EXPECT_THAT(outcome.message,
              testing::StartsWith(changed.folder.string() + ": the architecture 'resnet50'"));
}

}  // namespace
}  // namespace assay
