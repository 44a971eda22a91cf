#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/error.h"
#include "families/families.h"
#include "families/tables.h"

namespace assay::families {
namespace {

using Args = std::map<std::string, std::string>;

graph::Graph build_with(const std::string& architecture, const Args& args, int height = 240,
                        int width = 240) {
  const checkpoint::Weights weights = zero_weights(architecture);
  checkpoint::ModelConfig config = config_of(architecture);
  config.model_args = args;
  return build({config, weights, height, width});
}

void expect_refused(const std::string& architecture, const Args& args, ErrorKind kind,
                    const std::string& words) {
  try {
    build_with(architecture, args);
    ADD_FAILURE() << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), testing::HasSubstr(words));
  }
}

TEST(ModelArgs, ThoseOfTrainingAreHarmless) {
  EXPECT_NO_THROW(build_with("crossvit_9_240", {{"drop_rate", "0.1"}, {"drop_path_rate", "null"}}));
  EXPECT_NO_THROW(build_with("mobilevit_xxs", {{"drop_path_rate", "0.1"}}));
}

TEST(ModelArgs, UnknownOnesAreRefusedByName) {
  expect_refused("crossvit_9_240", {{"depth", "[[1,3,0]]"}, {"window", "7"}, {"drop_rate", "0"}},
                 ErrorKind::unsupported, "model_args: depth = [[1,3,0]], window = 7");
  expect_refused("mobilevit_xxs", {{"attn_layer", "\"se\""}}, ErrorKind::unsupported,
                 "attn_layer = \"se\"");
}

TEST(ModelArgs, ThoseThatSayWhatIsDoneAnywayAreTaken) {
  EXPECT_NO_THROW(
      build_with("crossvit_9_240", {{"img_size", "240"}, {"global_pool", "\"token\""}}));
  EXPECT_NO_THROW(build_with("crossvit_9_240", {{"img_size", "[240, 240]"}, {"in_chans", "3"}}));
  EXPECT_NO_THROW(build_with("mobilevit_xxs", {{"num_classes", "1000"}, {"output_stride", "32"}}));
}

TEST(ModelArgs, ThoseThatAskForSomethingElseAreRefused) {
  const auto refused = [](const std::string& architecture, const std::string& name,
                          const std::string& value) {
    expect_refused(architecture, {{name, value}}, ErrorKind::unsupported,
                   "model_args." + name + " is " + value);
  };
  refused("crossvit_9_240", "img_size", "224");
  refused("crossvit_9_240", "img_size", "[240]");
  refused("crossvit_9_240", "multi_conv", "true");
  refused("crossvit_9_240", "crop_scale", "true");
  refused("crossvit_9_240", "global_pool", "\"avg\"");
  refused("mobilevit_xxs", "in_chans", "1");
  refused("mobilevit_xxs", "num_classes", "10");
  refused("mobilevit_xxs", "output_stride", "16");
  refused("mobilevit_xxs", "act_layer", "\"relu\"");
}

TEST(ModelArgs, OverridesReachTheGraph) {
  // Without the bias the checkpoint's qkv.bias tensors are left over, and with other features the
  // last convolution has another shape.
  expect_refused("crossvit_9_240", {{"qkv_bias", "false"}}, ErrorKind::bad_input,
                 "blocks.0.blocks.0.0.attn.qkv.bias [384]");
  expect_refused("mobilevit_xxs", {{"num_features", "128"}}, ErrorKind::bad_input,
                 "final_conv.conv.weight is [320, 80, 1, 1], needs [128, 80, 1, 1]");
}

TEST(ModelArgs, ValuesOfTheWrongTypeAreRefused) {
  expect_refused("crossvit_9_240", {{"qkv_bias", "1"}}, ErrorKind::bad_input, "true or false");
  for (const char* value : {"\"320\"", "0", "-1", "3.5", "99999999999999999999", "[320]"}) {
    expect_refused("mobilevit_xxs", {{"num_features", value}}, ErrorKind::bad_input,
                   "model_args.num_features");
  }
  expect_refused("mobilevit_xxs", {{"num_features", "{"}}, ErrorKind::bad_input, "num_features");
}

}  // namespace
}  // namespace assay::families
