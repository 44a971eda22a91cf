/// config.json's dialects, and what is refused of them.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/support.h"

namespace assay::checkpoint {
namespace {

ModelConfig parse(std::string_view text) { return parse_config(text, "folder/config.json"); }

/// A nested configuration with these keys in its pretrained_cfg.
ModelConfig parse_pretrained(const std::string& keys) {
  return parse(R"({"architecture":"mobilevit_s","pretrained_cfg":{)" + keys + "}}");
}

TEST(Config, ReadsTheNestedDialect) {
  const std::string text = R"({
    "architecture": "crossvit_9_240", "num_classes": 3, "num_features": 384, "global_pool": "avg",
    "pretrained_cfg": {"tag": "in1k", "input_size": [3, 240, 320], "fixed_input_size": true,
      "interpolation": "bilinear", "crop_pct": 0.9, "crop_mode": "squash", "mean": [0, 0.25, 0.5],
      "std": [1, 0.5, 0.25], "num_classes": 1000, "pool_size": null, "classifier": ["head.0"],
      "test_input_size": [3, 288, 288], "test_crop_pct": 1.0,
      "label_names": ["a", "b", "c"]}})";
  const ModelConfig config = parse(text);
  EXPECT_EQ(config.architecture, "crossvit_9_240");
  EXPECT_EQ(config.num_classes, 3);
  EXPECT_TRUE(config.fixed_input_size);
  EXPECT_EQ(config.labels, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(config.model_args.empty());
  EXPECT_EQ(config.text, text);
  const image::Transform expected{
      .input_height = 240,
      .input_width = 320,
      .interpolation = image::Interpolation::bilinear,
      .crop_mode = image::CropMode::squash,
      .crop_pct = 0.9,
      .mean = {0, 0.25, 0.5},
      .std = {1, 0.5, 0.25},
  };
  EXPECT_EQ(config.transform, expected);
}

TEST(Config, ReadsTheFlatDialect) {
  const ModelConfig config = parse(R"({
    "architecture": "mobilevit_s.cvnets_in1k", "num_classes": 2, "input_size": [3, 256, 256],
    "interpolation": "bicubic", "crop_pct": 0.9, "mean": [0.0, 0.0, 0.0], "std": [1.0, 1.0, 1.0],
    "first_conv": "stem.conv", "classifier": "head.fc", "labels": ["cat", "dog"]})");
  EXPECT_EQ(config.architecture, "mobilevit_s");
  EXPECT_EQ(config.num_classes, 2);
  EXPECT_FALSE(config.fixed_input_size);
  EXPECT_EQ(config.transform.input_height, 256);
  EXPECT_EQ(config.transform.crop_pct, 0.9);
  EXPECT_EQ(config.transform.std, (std::array<double, 3>{1, 1, 1}));
  EXPECT_EQ(config.labels, (std::vector<std::string>{"cat", "dog"}));
}

TEST(Config, ReadsTimmWrapper) {
  const ModelConfig config = parse(R"({
    "architecture": "mobilevit_xs", "architectures": ["TimmWrapperForImageClassification"],
    "model_type": "timm_wrapper", "do_pooling": true, "initializer_range": 0.02,
    "id2label": {"1": "dog", "0": "cat"}, "label2id": {"cat": 0, "dog": 1}, "num_features": 384,
    "pretrained_cfg": {"input_size": [3, 256, 256], "crop_pct": 0.9}, "torch_dtype": "float32"})");
  EXPECT_EQ(config.architecture, "mobilevit_xs");
  EXPECT_EQ(config.num_classes, 2);
  EXPECT_EQ(config.labels, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(config.transform.input_width, 256);
}

TEST(Config, TakesTimmsDefaultsWhereKeysAreAbsentOrNull) {
  for (const char* keys : {"", R"("input_size":null,"interpolation":null,"crop_pct":null,
      "crop_mode":null,"mean":null,"std":null,"fixed_input_size":null,"num_classes":null,
      "label_names":null)"}) {
    const ModelConfig config = parse_pretrained(keys);
    EXPECT_EQ(config.transform, image::Transform{});
    EXPECT_EQ(config.num_classes, 1000);
    EXPECT_FALSE(config.fixed_input_size);
  }
  const image::Transform defaults;
  EXPECT_EQ(defaults.input_height, 224);
  EXPECT_EQ(defaults.input_width, 224);
  EXPECT_EQ(defaults.crop_pct, 0.875);
  EXPECT_EQ(defaults.interpolation, image::Interpolation::bicubic);
}

TEST(Config, TakesTheArchitectureOfPretrainedCfgWhereTheTopLevelHasNone) {
  EXPECT_EQ(parse(R"({"pretrained_cfg":{"architecture":"mobilevit_xxs"}})").architecture,
            "mobilevit_xxs");
  EXPECT_EQ(parse(R"({"architecture":"a","pretrained_cfg":{"architecture":"b"}})").architecture,
            "a");
}

struct ClassesCase {
  std::string_view text;
  int classes;
};

TEST(Config, CountsClassesWithTimmsPrecedence) {
  for (const ClassesCase& param : {
           ClassesCase{R"({"architecture":"a","num_classes":5,"pretrained_cfg":{"num_classes":7},
                           "model_args":{"num_classes":3}})",
                       3},
           ClassesCase{R"({"architecture":"a","num_classes":5,"pretrained_cfg":{"num_classes":7}})",
                       5},
           ClassesCase{R"({"architecture":"a","pretrained_cfg":{"num_classes":7}})", 7},
           ClassesCase{R"({"architecture":"a","pretrained_cfg":{}})", 1000},
           ClassesCase{R"({"architecture":"a","num_classes":4})", 4},
       }) {
    const ModelConfig config = parse(param.text);
    EXPECT_EQ(config.num_classes, param.classes) << param.text;
    EXPECT_EQ(static_cast<int>(config.labels.size()), param.classes) << param.text;
  }
}

TEST(Config, GivesTheFamilyTheArgumentsThatAreItsOwn) {
  const ModelConfig config = parse(R"({"architecture":"a","pretrained_cfg":{},
    "model_args":{"num_classes":3,"in_chans":3,"img_size":320,"embed_dim":[128,256],"qkv_bias":false}})");
  EXPECT_EQ(config.model_args,
            (std::map<std::string, std::string>{
                {"embed_dim", "[128,256]"}, {"img_size", "320"}, {"qkv_bias", "false"}}));
  EXPECT_EQ(config.transform.input_height, 224);
}

TEST(Config, TakesTheInputSizeOfModelArgsWhereItIsFixed) {
  const ModelConfig one = parse(R"({"architecture":"a",
    "pretrained_cfg":{"fixed_input_size":true,"input_size":[3,240,240]},
    "model_args":{"img_size":320}})");
  EXPECT_EQ(one.transform.input_height, 320);
  EXPECT_EQ(one.transform.input_width, 320);
  EXPECT_TRUE(one.model_args.empty());
  const ModelConfig two = parse(R"({"architecture":"a","pretrained_cfg":{"fixed_input_size":true},
    "model_args":{"img_size":[320,256]}})");
  EXPECT_EQ(two.transform.input_height, 320);
  EXPECT_EQ(two.transform.input_width, 256);
  EXPECT_FALSE(parse(R"({"architecture":"a","pretrained_cfg":{"fixed_input_size":true},
    "model_args":{"dynamic_img_size":true}})")
                   .fixed_input_size);
}

struct Refusal {
  std::string text;
  ErrorKind kind;
  std::vector<std::string> parts;
};

TEST(Config, RefusesEachWrongValueByName) {
  constexpr auto kBad = ErrorKind::bad_input;
  constexpr auto kUnsupported = ErrorKind::unsupported;
  const auto pretrained = [](const std::string& keys) {
    return R"({"architecture":"a","pretrained_cfg":{)" + keys + "}}";
  };
  const std::vector<Refusal> refusals{
      {"", kBad, {"JSON"}},
      {"[]", kBad, {"the document", "an object"}},
      {"{}", kBad, {"architecture"}},
      {R"({"architecture":""})", kBad, {"architecture"}},
      {R"({"architecture":".in1k"})", kBad, {"architecture"}},
      {R"({"architecture":7})", kBad, {"architecture is 7", "a string"}},
      {R"({"architecture":"a","architecture":"b"})", kBad, {"twice"}},
      {R"({"architecture":"a","pretrained_cfg":"in1k"})", kBad, {"pretrained_cfg", "an object"}},
      {R"({"architecture":"a","model_args":[]})", kBad, {"model_args", "an object"}},
      {R"({"architecture":"a","num_classes":"ten"})", kBad, {"num_classes is \"ten\""}},
      {R"({"architecture":"a","num_classes":-1})", kBad, {"num_classes is -1"}},
      {R"({"architecture":"a","num_classes":10.5})", kBad, {"num_classes is 10.5"}},
      {R"({"architecture":"a","num_classes":99999999999})", kBad, {"num_classes is 99999999999"}},
      {R"({"architecture":"a","num_classes":18446744073709551615})", kBad, {"num_classes"}},
      {R"({"architecture":"a","num_classes":0})", kUnsupported, {"no classifier"}},
      {pretrained(R"("label_offset":1)"), kUnsupported, {"label_offset"}},
      {pretrained(R"("interpolation":"random")"),
       kUnsupported,
       {"pretrained_cfg.interpolation", "random", "bicubic"}},
      {pretrained(R"("interpolation":3)"), kBad, {"pretrained_cfg.interpolation is 3"}},
      {pretrained(R"("crop_mode":"corner")"),
       kUnsupported,
       {"pretrained_cfg.crop_mode", "corner", "squash"}},
      {pretrained(R"("input_size":224)"), kBad, {"pretrained_cfg.input_size is 224"}},
      {pretrained(R"("input_size":[224,224])"), kBad, {"[channels, height, width]"}},
      {pretrained(R"("input_size":[3,0,224])"), kBad, {"pretrained_cfg.input_size"}},
      {pretrained(R"("input_size":[3,224.5,224])"), kBad, {"pretrained_cfg.input_size"}},
      {pretrained(R"("input_size":[3,"224",224])"), kBad, {"pretrained_cfg.input_size"}},
      {pretrained(R"("input_size":[3,224,1000000])"), kBad, {"from 1 to 4096"}},
      {pretrained(R"("input_size":[1,28,28])"), kUnsupported, {"1 channels"}},
      {pretrained(R"("crop_pct":0)"), kBad, {"crop_pct is 0, expected a share from 0.01 to 100"}},
      {pretrained(R"("crop_pct":101)"), kBad, {"crop_pct is 101"}},
      {pretrained(R"("crop_pct":-0.5)"), kBad, {"crop_pct is -0.5"}},
      {pretrained(R"("crop_pct":"0.9")"), kBad, {"a number"}},
      {pretrained(R"("crop_pct":1e999)"), kBad, {"JSON"}},
      {pretrained(R"("mean":[0.5])"), kBad, {"pretrained_cfg.mean", "3 numbers"}},
      {pretrained(R"("mean":0.5)"), kBad, {"pretrained_cfg.mean is 0.5"}},
      {pretrained(R"("mean":["a","b","c"])"), kBad, {"pretrained_cfg.mean"}},
      {pretrained(R"("std":[1,1,1,1])"), kBad, {"pretrained_cfg.std", "3 numbers"}},
      {pretrained(R"("std":[1,0,1])"), kBad, {"std 0", "above 0"}},
      {pretrained(R"("std":[1,-1,1])"), kBad, {"std -1", "above 0"}},
      {pretrained(R"("std":[1e-40,1,1])"), kBad, {"channel 0", "std 1e-40", "finite"}},
      {pretrained(R"("mean":[0,1e39,0])"), kBad, {"channel 1", "mean 1e+39", "finite"}},
      {pretrained(R"("crop_pct":1e-9)"), kBad, {"crop_pct is 1e-09"}},
      {pretrained(R"("fixed_input_size":1)"), kBad, {"fixed_input_size is 1", "true or false"}},
      {R"({"architecture":"a","model_args":{"in_chans":1}})", kUnsupported, {"in_chans is 1"}},
      {R"({"architecture":"a","fixed_input_size":true,"model_args":{"img_size":"big"}})",
       kBad,
       {"model_args.img_size"}},
      {R"({"architecture":"a","fixed_input_size":true,"model_args":{"img_size":[240]}})",
       kBad,
       {"model_args.img_size"}},
      {R"({"architecture":)" + std::string(100'000, '['), kBad, {"deep"}},
      {"{\"architecture\":\"\xff\"}", kBad, {"JSON"}},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text.substr(0, 120));
    std::vector<std::string> parts = refusal.parts;
    parts.emplace_back("folder/config.json: ");
    expect_error(refusal.kind, parts, [&] { parse(refusal.text); });
  }
}

TEST(Config, RefusesTransformersOwnConfigurationsWithTheNearestNames) {
  constexpr auto kUnsupported = ErrorKind::unsupported;
  const std::vector<Refusal> refusals{
      {R"({"model_type":"mobilevit","hidden_sizes":[144,192,240],"image_size":256})",
       kUnsupported,
       {"'mobilevit'", "transformers-native", "mobilevit_s;", "timm/mobilevit_s.cvnets_in1k"}},
      {R"({"model_type":"mobilevit","hidden_sizes":[64,80,96]})",
       kUnsupported,
       {"mobilevit_xxs;", "timm/mobilevit_xxs.cvnets_in1k"}},
      {R"({"architectures":["MobileViTForImageClassification"],"model_type":"mobilevit"})",
       kUnsupported,
       {"mobilevit_s, mobilevit_xs, mobilevit_xxs", "timm/"}},
      {R"({"model_type":"mobilevitv2"})", kUnsupported, {"'mobilevitv2'", "mobilevit_s"}},
      {R"({"model_type":"vit"})", kUnsupported, {"'vit'", "crossvit_9_240", "mobilevit_s"}},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    expect_error(refusal.kind, refusal.parts, [&] { parse(refusal.text); });
  }
}

}  // namespace
}  // namespace assay::checkpoint
