/// A small study from end to end, on an example checkpoint.
#include "study/run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "assay/error.h"
#include "base/file.h"
#include "study/samples.h"
#include "study/verify.h"

namespace assay::study {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kSpec = R"(
name = "tiny"
title = "Does int8 hold?"
question = "Is int8 as good as fp32?"
data = "fashion-mnist/t10k-images-idx3-ubyte.gz"
threads = 2
[calibration]
stride = 2000
[held_out]
stride = 1000
[ablation]
images = 4
variants = ["int8"]
calibrators = ["int8"]
observers = ["max", "percentile_99.99"]
sensitivity = ["vit"]
[speed]
warmup = 1
rounds = 3
[thresholds]
agreement = 0.5
[[model]]
name = "xxs"
checkpoint = "mobilevit_xxs.fashion_mnist"
[[variant]]
name = "fp32"
recipe = "fp32"
[[variant]]
name = "int8"
recipe = "int8-max"
[[variant]]
name = "vit"
recipe = "fp8-mlp-only"
)";

fs::path examples() { return fs::path(ASSAY_SOURCE_DIR) / "examples"; }

fs::path fresh(const char* name) {
  const fs::path folder = fs::path(testing::TempDir()) / (std::to_string(getpid()) + name);
  fs::remove_all(folder);
  return folder;
}

Spec spec() { return parse_spec(kSpec, "tiny.toml", examples()); }

/// Run once for all tests.
const fs::path& done() {
  static const fs::path folder = [] {
    fs::path made = fresh("study-tiny");
    static_cast<void>(run_study(spec(), {.output = made}));
    return made;
  }();
  return folder;
}

TEST(RunStudySlow, MeasuresWhatTheSpecificationAsksFor) {
  const Study study = read_study(done() / "study.json");
  EXPECT_EQ(study.data.samples, 10'000U);
  EXPECT_EQ(study.data.calibration.count, 5U);
  EXPECT_EQ(study.data.held_out.count, 5U);
  EXPECT_EQ(study.data.held_out.excluded, 5U);
  EXPECT_TRUE(study.data.disjoint);
  ASSERT_EQ(study.models.size(), 1U);
  const Model& model = study.models[0];
  ASSERT_EQ(model.variants.size(), 3U);
  const Variant& fp32 = model.variants[0];
  EXPECT_EQ(fp32.quality.max_abs_diff, 0);
  EXPECT_EQ(fp32.quality.agreement_fp32.value, 1);
  const Variant& int8 = model.variants[1];
  EXPECT_GT(int8.quality.sqnr_db.value, 10);
  EXPECT_LT(int8.quality.sqnr_db.value, 100);
  EXPECT_LT(int8.size.weight_bytes, fp32.size.weight_bytes);
  EXPECT_EQ(int8.speed.batch.size(), 3U);
  EXPECT_EQ(int8.speed.batch[0].samples_ms.size(), 3U);
  EXPECT_EQ(int8.multiply_adds.total, fp32.multiply_adds.total);
  EXPECT_GE(int8.nonfinite->stress.size(), 24U);
  EXPECT_FALSE(int8.nonfinite->layers.empty());
  const Variant& vit = model.variants[2];
  EXPECT_THAT(vit.emulated, testing::Contains("fp8"));
  EXPECT_TRUE(vit.speed.empty());
  EXPECT_THAT(vit.speed_reason, HasSubstr("emulated"));
  EXPECT_GT(vit.steps.conversions, 0U);
  EXPECT_EQ(model.ablations.size(), 3U);
  EXPECT_EQ(model.calibrators.size(), 2U);
  EXPECT_EQ(model.sensitivity.size(), 18U) << "two layers of nine MLPs";
  EXPECT_FALSE(study.not_measured.empty());
}

TEST(RunStudySlow, LeavesWhatItRestsOnAndNothingElse) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(done()))
    if (entry.is_regular_file())
      files.push_back(entry.path().lexically_relative(done()).generic_string());
  EXPECT_THAT(files,
              testing::UnorderedElementsAre("study.json", "samples.json", "xxs.calibration.json",
                                            "recipes/int8-max.toml", "recipes/fp8-mlp-only.toml"));
}

TEST(RunStudySlow, HoldsWhenRunAgain) {
  for (const VerifyCheck& check : verify_study(done(), {})) {
    const bool timed = check.name.find("batch") != std::string::npos ||  // of three rounds
                       check.name == "README.md";                        // there is none
    if (timed) continue;
    EXPECT_EQ(check.outcome, Outcome::holds) << check.name << ": " << check.detail;
  }
  const auto sampled = verify_study(done(), {.sample = 3});
  EXPECT_GE(sampled.size(), 5U);
  EXPECT_THROW(static_cast<void>(verify_study(done(), {.sample = 6})), Error);
}

TEST(RunStudySlow, VerifyingFindsALogitThatWasChanged) {
  const fs::path copy = fresh("study-changed");
  fs::copy(done(), copy, fs::copy_options::recursive);
  Samples samples = read_samples(copy / "samples.json");
  samples["xxs"].logits["int8"][0] += 1e-5F;
  write_samples(samples, copy / "samples.json");
  Study study = read_study(copy / "study.json");
  study.spec.folder = examples().string();
  write_study(study, copy / "study.json");
  for (const VerifyCheck& check : verify_study(copy, {.sample = 5})) {
    if (check.name == "README.md") continue;
    EXPECT_EQ(check.outcome, check.name == "xxs int8" ? Outcome::differs : Outcome::holds)
        << check.name << ": " << check.detail;
  }
}

TEST(RunStudySlow, VerifyingFindsAVariantThatWasRenamed) {
  const fs::path copy = fresh("study-renamed");
  fs::copy(done(), copy, fs::copy_options::recursive);
  Study study = read_study(copy / "study.json");
  study.spec.folder = examples().string();
  study.models[0].variants[1].name = "better";
  for (Ablation& ablation : study.models[0].ablations) ablation.variant = "better";
  for (Calibrator& calibrator : study.models[0].calibrators) calibrator.variant = "better";
  write_study(study, copy / "study.json");
  const auto checks = verify_study(copy, {.sample = 1});
  const auto found = std::ranges::find(checks, "xxs variants", &VerifyCheck::name);
  ASSERT_NE(found, checks.end());
  EXPECT_EQ(found->outcome, Outcome::differs);
  EXPECT_EQ(found->detail, "variant 2 is 'int8' in the specification and 'better' in the record");
}

TEST(RunStudySlow, GoesOnWhereItWasStoppedAndEndsTheSame) {
  const fs::path folder = fresh("study-stopped");
  for (int stops = 1; stops <= 4; ++stops) {
    int asked = 0;
    EXPECT_THROW(static_cast<void>(run_study(spec(), {.output = folder,
                                                      .resume = stops > 1,
                                                      .stop = [&] { return ++asked > stops; }})),
                 StudyStopped);
  }
  EXPECT_THROW(static_cast<void>(run_study(spec(), {.output = folder})), Error)
      << "an unfinished study is not begun anew by accident";
  const Study resumed = run_study(spec(), {.output = folder, .resume = true});
  const Study whole = read_study(done() / "study.json");
  for (std::size_t v = 0; v < 3; ++v)
    EXPECT_TRUE(
        differing(whole.models[0].variants[v].quality, resumed.models[0].variants[v].quality)
            .empty());
  for (std::size_t i = 0; i < 18; ++i)
    EXPECT_EQ(whole.models[0].sensitivity[i].error.sqnr_db,
              resumed.models[0].sensitivity[i].error.sqnr_db);
}

TEST(RunStudySlow, DoesNotGoOnWithARecipeThatWasChanged) {
  const fs::path folder = fresh("study-recipe");
  fs::create_directories(folder);
  const auto write = [&](const char* observer) {
    AtomicFile file(folder / "mine.toml");
    file.write(
        fmt::format("name = \"mine\"\nprecision = \"int8\"\nbase = \"bf16\"\n[[rule]]\n"
                    "precision = \"int8\"\nactivations = {{ observer = \"{}\" }}\n",
                    observer));
    file.commit();
  };
  std::string text = kSpec;
  const auto replace = [&](const std::string& what, const std::string& by) {
    text.replace(text.find(what), what.size(), by);
  };
  replace("fashion-mnist/", (examples() / "fashion-mnist/").string());
  replace("mobilevit_xxs.fashion_mnist", (examples() / "mobilevit_xxs.fashion_mnist").string());
  replace("int8-max", "mine.toml");
  const Spec own = parse_spec(text, "tiny.toml", folder);
  const auto go_on = [&](bool resume) {
    int asked = 0;  // for the first time once the images are checked: nothing is kept before
    static_cast<void>(run_study(own, {.output = folder / "out", .resume = resume, .stop = [&] {
                                        return resume || asked++ > 0;
                                      }}));
  };
  write("max");
  EXPECT_THROW(go_on(false), StudyStopped);
  EXPECT_THROW(go_on(true), StudyStopped);
  write("moving_average");
  EXPECT_THROW(go_on(true), Error);
}

TEST(RunStudySlow, LeavesAFolderOfOtherThingsAlone) {
  const fs::path folder = fresh("study-other");
  fs::create_directories(folder);
  AtomicFile file(folder / "thesis.txt");
  file.write(std::string_view("mine"));
  file.commit();
  EXPECT_THROW(static_cast<void>(run_study(spec(), {.output = folder})), Error);
}

}  // namespace
}  // namespace assay::study
