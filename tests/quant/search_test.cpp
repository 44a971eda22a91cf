/// Layers alone, and recipes found within a budget of noise.
#include "quant/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "quant/sensitivity.h"
#include "quant/toy_network.h"

namespace assay::quant {
namespace {

using graph::Precision;

constexpr std::size_t kImages = 24;

/// 24 images of 4 × 4 pixels that reach from -1 to 1.
struct ToyImages {
  ToyImages() {
    for (std::size_t i = 0; i < kImages * 48; ++i)
      rgb.push_back(static_cast<std::uint8_t>(i * i * 37 % 251));
  }
  [[nodiscard]] ImageSet set() const {
    return {rgb, kImages, {.mean = {0.5F, 0.5F, 0.5F}, .std = {0.5F, 0.5F, 0.5F}}};
  }
  std::vector<std::uint8_t> rgb;
};

const RunOptions kTwoThreads{.threads = 2};

TEST(RunImages, ThreadsChangeNoBit) {
  const ToyImages images;
  const auto logits = run_images(toy_network(), images.set(), {.threads = 1});
  EXPECT_EQ(logits.size(), kImages * 3);
  EXPECT_EQ(logits, run_images(toy_network(), images.set(), kTwoThreads));
  EXPECT_EQ(classes_of(toy_network()), 3U);
}

TEST(RunImages, RefusesImagesOfAnotherSize) {
  const ToyImages images;
  ImageSet few = images.set();
  few.count = 5;
  EXPECT_THROW(static_cast<void>(run_images(toy_network(), few, {})), Error);
}

TEST(Sensitivity, IsOfEachNarrowLayerAlone) {
  const ToyImages images;
  const graph::Graph wide = toy_network();
  const Calibration calibration = toy_calibration(wide);
  const Recipe recipe = find_recipe("fp8-vit-max");
  const auto reference = run_images(wide, images.set(), kTwoThreads);
  const auto layers = sensitivity(wide, recipe, &calibration, images.set(), reference, kTwoThreads);
  ASSERT_EQ(layers.size(), sensitivity_runs(wide, recipe, &calibration));
  std::vector<std::string> names;
  for (const LayerError& layer : layers) {
    names.push_back(layer.decision.layer);
    EXPECT_EQ(layer.decision.precision, Precision::fp8);
    EXPECT_TRUE(std::isfinite(layer.error.sqnr_db)) << "rounding shows in the logits";
    const auto alone = quantize(wide, only(recipe, layer.decision.layer), &calibration);
    const auto logits = run_images(alone.graph, images.set(), kTwoThreads);
    EXPECT_EQ(layer.error.sqnr_db, logit_error(reference, logits, 3).sqnr_db);
  }
  EXPECT_THAT(names, testing::ElementsAre("attn.qkv", "mlp.fc1", "mlp.fc2"));
}

TEST(Sensitivity, OfARecipeOfSixteenBitsIsOfAllItsLayers) {
  const auto decisions = quantize(toy_network(), find_recipe("bf16"), nullptr).layers;
  EXPECT_GT(narrow_layers(decisions).size(), 3U);
}

struct Found {
  SearchResult result;
  double sqnr_db = 0;  ///< of its recipe, measured again
};

Found find(const SearchBudget& budget) {
  const ToyImages images;
  const graph::Graph wide = toy_network();
  const Calibration calibration = toy_calibration(wide);
  const SearchResult result =
      search(wide, find_recipe("fp8-vit-max"), calibration, images.set(), budget, kTwoThreads);
  const auto reference = run_images(wide, images.set(), kTwoThreads);
  const auto logits =
      run_images(quantize(wide, result.recipe, &calibration).graph, images.set(), kTwoThreads);
  return {result, logit_error(reference, logits, 3).sqnr_db};
}

TEST(Search, MeetsABudgetWithAsFewLayersBackAsItTakes) {
  const Found found = find({.gain_db = 4});
  EXPECT_TRUE(found.result.met);
  EXPECT_EQ(found.result.sqnr_db, found.sqnr_db) << "the recipe is what was measured";
  EXPECT_DOUBLE_EQ(found.result.budget_db, found.result.start_db + 4);
  EXPECT_GE(found.sqnr_db, found.result.budget_db);
  EXPECT_EQ(found.result.recipe.base, Precision::fp16);
  EXPECT_EQ(parse_recipe(to_toml(found.result.recipe), "auto.toml"), found.result.recipe);
}

TEST(Search, KeepsTheMultiplyAddsThatItIsTold) {
  const Found found = find({.gain_db = 60, .keep_multiply_adds = 0.6});
  EXPECT_FALSE(found.result.met);
  EXPECT_GE(found.result.kept, 0.6);
  EXPECT_LT(found.result.kept, 1) << "what may go has gone";
}

TEST(Search, NeverGivesBackTheLastLayer) {
  const Found found = find({.sqnr_db = 150});
  EXPECT_FALSE(found.result.met);
  EXPECT_EQ(found.result.recipe.rules.size(), 1U);
}

TEST(Search, SaysWhatItDid) {
  const Found found = find({.gain_db = 60, .keep_multiply_adds = 0.6});
  const auto& steps = found.result.steps;
  EXPECT_EQ(steps.front().sqnr_db, found.result.start_db);
  EXPECT_EQ(steps.back().sqnr_db, found.result.sqnr_db);
  std::set<std::string> back;
  for (const SearchStep& step : steps)
    if (step.change.starts_with("back")) back.insert(step.layer);
  EXPECT_EQ(back.size() + found.result.recipe.rules.size(), 3U);
}

TEST(Search, LeavesLayersThatAreNotNarrowAsTheyWere) {
  const ToyImages images;
  const graph::Graph wide = toy_network();
  Recipe from = find_recipe("fp8-vit-max");
  Rule exact;
  exact.layers = {"stem"};
  exact.precision = Precision::fp32;
  from.rules.push_back(exact);
  const Calibration calibration = toy_calibration(wide);
  const SearchResult result =
      search(wide, from, calibration, images.set(), {.gain_db = 1}, kTwoThreads);
  for (const LayerDecision& layer : quantize(wide, result.recipe, &calibration).layers) {
    if (layer.layer == "stem") {
      EXPECT_EQ(layer.precision, Precision::fp32);
    }
  }
}

TEST(Search, RefusesARecipeWithNothingNarrow) {
  const ToyImages images;
  const graph::Graph wide = toy_network();
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    try {
      static_cast<void>(search(wide, default_recipe(precision), toy_calibration(wide), images.set(),
                               {.gain_db = 1}, kTwoThreads));
      ADD_FAILURE() << graph::name(precision);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    }
  }
}

}  // namespace
}  // namespace assay::quant
