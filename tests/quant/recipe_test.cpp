/// Recipes: what is read, what is refused and in which words, and which layers a rule is about.
#include "quant/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "graph/toy.h"

namespace assay::quant {
namespace {

using graph::error_of;
using graph::Precision;
using graph::Role;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kHead = "name = \"x\"\nprecision = \"fp8\"\nbase = \"fp16\"\n";

TEST(Recipe, ReadsEveryKey) {
  const Recipe recipe = parse_recipe(
      kHead +
          "description = \"about\"\n"
          "[[rule]]\nroles = [\"qkv\", \"fc1\"]\nlayers = [\"blocks.*\"]\nexcept = [\"*.0.?\"]\n"
          "precision = \"fp8\"\nweights = { granularity = \"channel\", observer = \"mse\" }\n"
          "activations = { observer = \"percentile_99.99\" }\nsmooth = 0.5\n"
          "bias_correction = true\noptional = true\n"
          "[[rule]]\nprecision = \"fp32\"\n"
          "[outliers]\nobserver = \"percentile_99.9\"\nratio = 8\n",
      "x.toml");
  EXPECT_EQ(recipe.name, "x");
  EXPECT_EQ(recipe.description, "about");
  EXPECT_EQ(recipe.precision, Precision::fp8);
  EXPECT_EQ(recipe.base, Precision::fp16);
  ASSERT_EQ(recipe.rules.size(), 2U);
  const Rule& rule = recipe.rules[0];
  EXPECT_THAT(rule.roles, ElementsAre(Role::qkv, Role::fc1));
  EXPECT_THAT(rule.layers, ElementsAre("blocks.*"));
  EXPECT_THAT(rule.except, ElementsAre("*.0.?"));
  EXPECT_EQ(rule.weights.granularity, Granularity::channel);
  EXPECT_EQ(rule.weights.observer, WeightObserver::mse);
  EXPECT_EQ(rule.activations, "percentile_99.99");
  EXPECT_EQ(rule.smooth, 0.5);
  EXPECT_TRUE(rule.bias_correction);
  EXPECT_TRUE(rule.optional);
  EXPECT_EQ(recipe.rules[1].precision, Precision::fp32);
  EXPECT_THAT(recipe.rules[1].layers, ElementsAre("*"));
  ASSERT_TRUE(recipe.outliers);
  EXPECT_EQ(recipe.outliers->observer, "percentile_99.9");
  EXPECT_EQ(recipe.outliers->ratio, 8);
  EXPECT_TRUE(needs_calibration(recipe));
  EXPECT_THAT(observers_of(recipe), ElementsAre("max", "percentile_99.99", "percentile_99.9"));
}

TEST(Recipe, GranularityIsTheFormatsOwnWhereNoneIsSaid) {
  const auto granularity = [](const char* precision) {
    const std::string text = fmt::format(
        "name = \"x\"\nprecision = \"nvfp4\"\nbase = \"fp32\"\n[[rule]]\nprecision = \"{}\"\n",
        precision);
    return parse_recipe(text, "x").rules[0].weights.granularity;
  };
  EXPECT_EQ(granularity("int8"), Granularity::channel);
  EXPECT_EQ(granularity("fp8"), Granularity::tensor);
  EXPECT_EQ(granularity("nvfp4"), Granularity::block);
}

TEST(Recipe, RefusesInWordsThatSayWhere) {
  const std::string rule = kHead + "[[rule]]\n";
  const auto refused = [](const std::string& text) {
    const auto [kind, message] = error_of([&] { parse_recipe(text, "x.toml"); });
    EXPECT_EQ(kind, ErrorKind::bad_input) << text;
    return message;
  };
  EXPECT_THAT(refused("name = \"x\"\n"), HasSubstr("x.toml:1: precision is missing"));
  EXPECT_THAT(refused("name = \"A b\"\n"), HasSubstr("name is 'A b', expected up to 64"));
  EXPECT_EQ(refused("name = \"x\"\nprecision = \"fp9\"\n"),
            "x.toml:2: precision is 'fp9', expected one of \"fp32\", \"fp16\", \"bf16\", \"int8\", "
            "\"fp8\", \"nvfp4\"");
  EXPECT_THAT(refused("name = \"x\"\nprecision = \"fp8\"\nbase = \"int8\"\n"),
              HasSubstr("x.toml:3: base is 'int8', expected one of \"fp32\", \"fp16\", \"bf16\""));
  EXPECT_THAT(refused("name = \"x\"\nprecision = \"fp16\"\nbase = \"bf16\"\n"), HasSubstr("base"));
  EXPECT_THAT(refused(kHead + "colour = 1\n"), HasSubstr("x.toml:4: colour is not a key"));
  EXPECT_THAT(refused(rule + "precision = \"nvfp4\"\n"), HasSubstr("x.toml:5: rule[0].precision"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nrole = [\"qkv\"]\n"),
              HasSubstr("x.toml:6: rule[0].role is not a key"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nroles = [\"qvk\"]\n"),
              HasSubstr("x.toml:6: there is no role \"qvk\"; the roles are convolution"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nroles = [\"none\"]\n"), HasSubstr("no role"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nroles = []\n"), HasSubstr("at least one"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nlayers = \"a\"\n"),
              HasSubstr("list of strings"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nroles = [\"depthwise\"]\n"),
              HasSubstr("layers of the role \"depthwise\" cannot be fp8"));
  EXPECT_THAT(refused(rule + "precision = \"int8\"\nroles = [\"attention\"]\n"),
              HasSubstr("layers of the role \"attention\" cannot be int8"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nweights = { granularity = \"block\" }\n"),
              HasSubstr("one of \"tensor\", \"channel\""));
  EXPECT_THAT(refused(rule + "precision = \"int8\"\nweights = { granularity = \"tensor\" }\n"),
              HasSubstr("expected \"channel\""));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nweights = { observer = \"entropy\" }\n"),
              HasSubstr("rule[0].weights.observer is 'entropy'"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nweights = { size = 3 }\n"),
              HasSubstr("rule[0].weights.size is not a key"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nactivations = { observer = \"luck\" }\n"),
              HasSubstr("rule[0].activations.observer is 'luck', expected one of \"max\""));
  EXPECT_THAT(refused(rule + "precision = \"fp16\"\nweights = { observer = \"max\" }\n"),
              HasSubstr("weights means nothing at fp16"));
  EXPECT_THAT(refused(rule + "precision = \"bf16\"\nactivations = { observer = \"max\" }\n"),
              HasSubstr("activations means nothing at bf16"));
  EXPECT_THAT(refused(rule + "precision = \"fp32\"\nsmooth = 0.5\n"), HasSubstr("smooth means"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nsmooth = 1.5\n"), HasSubstr("0 ... 1"));
  EXPECT_THAT(refused(rule + "precision = \"fp16\"\nbias_correction = true\n"),
              HasSubstr("bias_correction means nothing"));
  EXPECT_THAT(refused(rule + "precision = \"fp8\"\nbias_correction = 1\n"),
              HasSubstr("true or false"));
  EXPECT_THAT(refused(kHead + "[outliers]\nobserver = \"max\"\nratio = 2\n"),
              HasSubstr("another observer"));
  EXPECT_THAT(refused(kHead + "[outliers]\nobserver = \"mse\"\nratio = 0.5\n"),
              HasSubstr("x.toml:6: outliers.ratio is 0.5"));
  EXPECT_THAT(refused(kHead + std::string(kMaxRecipeBytes, ' ')), HasSubstr("the limit"));
  EXPECT_THAT(refused("name = "), StartsWith("x.toml:1: not TOML"));
}

TEST(Recipe, TextComesBackTheSame) {
  for (const BuiltinRecipe& builtin : builtin_recipes()) {
    const Recipe recipe = parse_recipe(builtin.text, builtin.name);
    EXPECT_EQ(recipe.name, builtin.name) << "a file is named after its recipe";
    EXPECT_FALSE(recipe.description.empty()) << builtin.name;
    const std::string text = to_toml(recipe);
    EXPECT_EQ(parse_recipe(text, "again"), recipe) << text;
    EXPECT_EQ(to_toml(parse_recipe(text, "again")), text);
  }
  Recipe odd = parse_recipe(kHead +
                                "[[rule]]\nprecision = \"fp8\"\nsmooth = 0.1\n"
                                "[outliers]\nobserver = \"mse\"\nratio = 1.7\n",
                            "odd");
  odd.description = "a \"quoted\" \\ line\nand another";
  odd.rules[0].except = {"x?", "*\""};
  EXPECT_EQ(parse_recipe(to_toml(odd), "again"), odd);
}

TEST(Recipe, ShipsWhatThePrecisionsNeed) {
  std::vector<std::string_view> names;
  for (const BuiltinRecipe& builtin : builtin_recipes()) names.push_back(builtin.name);
  EXPECT_THAT(names, ElementsAre("bf16", "fp16", "fp8-all", "fp8-mlp-only", "fp8-vit-max",
                                 "fp8-vit-mse", "int8-cpu", "int8-max", "nvfp4-weights"));
  for (const Precision precision : graph::kPrecisions) {
    const Recipe recipe = default_recipe(precision);
    EXPECT_EQ(recipe.precision, precision);
    const bool ranges = precision == Precision::int8 || precision == Precision::fp8;
    EXPECT_EQ(needs_calibration(recipe), ranges) << recipe.name;
  }
}

TEST(Recipe, IsFoundByNameOrPath) {
  EXPECT_EQ(find_recipe("fp8-all").name, "fp8-all");
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("assay_recipe_test." + std::to_string(getpid()) + ".toml");
  std::ofstream(path) << kHead;
  EXPECT_EQ(find_recipe(path.string()).name, "x");
  std::ofstream(path) << kHead << "colour = 1\n";
  const auto [kind, message] = error_of([&] { find_recipe(path.string()); });
  EXPECT_EQ(kind, ErrorKind::bad_input);
  EXPECT_THAT(message, StartsWith(path.string() + ":4: colour"));
  std::filesystem::remove(path);
  const auto [absent, words] = error_of([] { find_recipe("fp8-most"); });
  EXPECT_EQ(absent, ErrorKind::not_found);
  EXPECT_THAT(words, HasSubstr("recipe 'fp8-most'"));
  EXPECT_THAT(words, HasSubstr("fp8-vit-max"));
}

graph::Node node_named(const std::string& name, const graph::Operator& op, Role role) {
  graph::Node node{name, op, {}, graph::kNone};
  node.role = role;
  return node;
}

TEST(Recipe, ARuleIsAboutRolesAndNames) {
  const graph::Node fc1 = node_named("blocks.0.mlp.fc1", graph::Linear{}, Role::fc1);
  const auto matched = [&](const auto& change) {
    Rule rule;
    rule.precision = Precision::fp8;
    change(rule);
    return matches(rule, fc1);
  };
  EXPECT_TRUE(matched([](Rule&) {}));
  EXPECT_TRUE(matched([](Rule& r) { r.roles = {Role::fc2, Role::fc1}; }));
  EXPECT_FALSE(matched([](Rule& r) { r.roles = {Role::fc2}; }));
  const auto glob = [&](const char* text) { return matched([&](Rule& r) { r.layers = {text}; }); };
  EXPECT_TRUE(glob("blocks.0.mlp.fc1"));
  EXPECT_TRUE(glob("*.fc1"));
  EXPECT_TRUE(glob("blocks.*"));
  EXPECT_TRUE(glob("*mlp*"));
  EXPECT_TRUE(glob("blocks.?.mlp.fc?"));
  EXPECT_TRUE(glob("b*s.*.m*1"));
  EXPECT_FALSE(glob("blocks.?"));
  EXPECT_FALSE(glob("*.fc2"));
  EXPECT_FALSE(glob("mlp"));
  EXPECT_FALSE(glob(""));
  EXPECT_FALSE(glob("b*b*b*"));
  EXPECT_FALSE(matched([](Rule& r) { r.except = {"nothing", "*.fc1"}; }));
  EXPECT_TRUE(matched([](Rule& r) { r.except = {"nothing"}; }));
}

TEST(Recipe, ARuleIsAboutWhatCanHaveItsPrecision) {
  Rule rule;
  rule.precision = Precision::int8;
  graph::Conv2d grouped;
  grouped.groups = 2;
  EXPECT_FALSE(matches(rule, node_named("a", grouped, Role::depthwise)));
  EXPECT_FALSE(matches(rule, node_named("a", graph::Attention{}, Role::attention)));
  EXPECT_TRUE(matches(rule, node_named("a", graph::Conv2d{}, Role::none)));
  rule.precision = Precision::fp8;
  EXPECT_TRUE(matches(rule, node_named("a", graph::Attention{}, Role::attention)));
  rule.precision = Precision::fp32;
  EXPECT_TRUE(matches(rule, node_named("a", grouped, Role::depthwise)));
  EXPECT_FALSE(matches(rule, node_named("a", graph::LayerNorm{}, Role::none)));
}

}  // namespace
}  // namespace assay::quant
