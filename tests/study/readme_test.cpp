#include "study/readme.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "study/fixtures/example_study.h"
#include "study/readme_numbers.h"

namespace assay::study {
namespace {

using ::testing::HasSubstr;

std::string unexplained(const std::string& page, const Study& study) {
  std::string text;
  for (const UnexplainedNumber& number : unexplained_numbers(page, to_json(study))) {
    text += std::to_string(number.line) + ": " + number.number + "\n";
  }
  return text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(StudyReadme, HasEverySection) {
  const std::string page = readme(example_study());
  std::size_t at = 0;
  for (const char* heading : {"# Two made-up networks, narrowed\n",
                              "## Summary and decision\n",
                              "## Recipe\n",
                              "## Method\n",
                              "### Data\n",
                              "### Machine\n",
                              "### Timing\n",
                              "## Results\n",
                              "### `tiny_vit`\n",
                              "#### Quality\n",
                              "#### Speed\n",
                              "#### Size and steps\n",
                              "#### Non-finite scan\n",
                              "#### Ablations\n",
                              "#### Calibrators\n",
                              "#### Sensitivity",
                              "#### Search\n",
                              "#### Images that changed",
                              "### `tiny_conv`\n",
                              "## Why\n",
                              "## Not measured\n",
                              "## Hypotheses\n",
                              "## When to revisit\n"}) {
    const auto next = page.find(heading, at);
    ASSERT_NE(next, std::string::npos) << heading;
    at = next;
  }
}

TEST(StudyReadme, SaysWhatShips) {
  const std::string page = readme(example_study());
  EXPECT_THAT(page, HasSubstr("- `tiny_vit`: ship `bf16` and `int8-cpu`; do not ship "
                              "`fp8-vit-max` and `nvfp4-weights`."));
  EXPECT_THAT(page, HasSubstr("- `tiny_conv`: ship none of `int8-cpu`."));
}

TEST(StudyReadme, StatesACauseOnlyWhereItWasIsolated) {
  const std::string page = readme(example_study());
  EXPECT_THAT(page, HasSubstr("- `fp8-vit-max`: rounding only the weights leaves 31.8 dB, only the "
                              "activations 25.0 dB, both 24.0 dB. The activations bring more than "
                              "twice the noise power that the weights do."));
  EXPECT_THAT(page, HasSubstr("- `bf16`: weights and activations were not rounded apart"));
  EXPECT_THAT(page, HasSubstr("- Hypothesis: A processor with FP8 arithmetic"));
}

TEST(StudyReadme, SaysWhatAStepOfASearchIsAbout) {
  Study study = example_study();
  study.models[0].searches[0].steps.push_back(
      {"", "the budget is not met: 70.1% of the narrow multiply-adds stay narrow", 29});
  const std::string page = readme(study);
  EXPECT_THAT(page, HasSubstr("| `fp8-vit-max` | `blocks.4.fc2` | given back to fp16 |"));
  EXPECT_THAT(page,
              HasSubstr("| `fp8-vit-max` | the whole network | the budget is not met: 70.1%"));
  EXPECT_EQ(unexplained(page, study), "");
}

TEST(StudyReadme, CallsLogitsOfAFileWhatTheyAre) {
  Study study = example_study();
  EXPECT_THAT(readme(study), testing::Not(HasSubstr("with the reference")));
  for (Model& model : study.models)
    model.reference = {"file", "timm.safetensors", std::string(64, 'c'), model.reference.top1};
  std::string page = readme(study);
  EXPECT_THAT(page, testing::Not(HasSubstr("agreement with fp32")));
  EXPECT_THAT(page, HasSubstr("The reference is another program's logits: `timm.safetensors`"));
  EXPECT_EQ(unexplained(page, study), "");
  EXPECT_NE(unexplained(replaced(page, "| 99.87% (", "| 99.86% ("), study), "")
      << "under its heading";
  study.models[1].reference = {"cpu fp32", "", "", std::nullopt};
  page = readme(study);
  EXPECT_THAT(page, HasSubstr("| decision | agreement with the reference |"));
  EXPECT_THAT(page, HasSubstr("| agreement with fp32 |")) << "in the other model's section";
}

TEST(StudyReadme, HoldsNoNumberThatWasNotMeasured) {
  const Study study = example_study();
  EXPECT_EQ(unexplained(readme(study), study), "");
}

TEST(StudyReadme, EscapesTextThatNobodyVouchesFor) {
  Study study = example_study();
  study.title = "</script> | *9* `x`\n# 12 heads";
  study.models[0].name = "a|b`c";
  study.models[0].variants[1].verdict.reasons = {"7 of 8 | pipes <b>"};
  study.spec.text = "a = '''\n````\n1234\n'''";
  const std::string page = readme(study);
  EXPECT_THAT(page, HasSubstr("# \\</script\\> \\| \\*9\\* 'x' \\# 12 heads\n"));
  EXPECT_THAT(page, HasSubstr("| `a\\|b'c` | `bf16` | ship |"));
  EXPECT_THAT(page, HasSubstr("7 of 8 \\| pipes \\<b\\> |"));
  EXPECT_THAT(page, HasSubstr("`````toml\n"));
  EXPECT_EQ(unexplained(page, study), "");
}

TEST(StudyReadme, IsCompleteWithoutOptionalParts) {
  Study study = example_study();
  study.models.erase(study.models.begin());
  study.git.reset();
  study.machine.load_at_start.clear();
  study.data.classes.clear();
  study.hypotheses.clear();
  const std::string page = readme(study);
  EXPECT_THAT(page, HasSubstr("No ablation was run."));
  EXPECT_THAT(page, HasSubstr("not compared"));
  EXPECT_EQ(unexplained(page, study), "");
  study.models[0].variants.clear();
  EXPECT_THAT(readme(study), HasSubstr("- `tiny_conv`: no variant was measured."));
  study.models.clear();
  EXPECT_THAT(readme(study), HasSubstr("No model was measured, so nothing is decided."));
}

TEST(ReadmeNumbers, FindsANumberThatWasChanged) {
  const Study study = example_study();
  const std::string page = readme(study);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"| 24.2 dB |", "| 24.3 dB |"},     // another value
           {"9,500 images", "9,501 images"},   // prose
           {"4.724 ms", "4.725 ms"},           // a last digit
           {"1.72×", "1.73×"},                 // a ratio
           {"31.8 dB, only", "31.8 ms, only"}  // another unit
       }) {
    EXPECT_NE(unexplained(replaced(page, from, to), study), "") << to;
  }
  EXPECT_EQ(unexplained("It is 12345.6 here.", study), "1: 12345.6\n");
  EXPECT_EQ(unexplained("```\nx = 77\n```\n", study), "1: 77\n");
}

TEST(ReadmeNumbers, TakesARowForTheVariantThatItNames) {
  const Study study = example_study();
  const std::string head = "### `tiny_vit`\n\n| variant | SQNR |\n|---|---|\n";
  EXPECT_EQ(unexplained(head + "| `bf16` | 43.2 dB |\n", study), "");
  EXPECT_EQ(unexplained(head + "| `int8-cpu` | 43.2 dB |\n", study), "5: 43.2 dB\n");
  // 21.5 dB is the other model's.
  EXPECT_EQ(unexplained(head + "| `int8-cpu` | 21.5 dB |\n", study), "5: 21.5 dB\n");
  // Top-5 is none of top-1's figures.
  EXPECT_EQ(unexplained("| top-1 |\n|---|\n| 99.71% |\n", study), "3: 99.71%\n");
  EXPECT_EQ(unexplained("| top-5 |\n|---|\n| 99.71% |\n", study), "");
}

TEST(ReadmeNumbers, ReadsIntervalsSeparatorsAndExponents) {
  const Study study = example_study();
  EXPECT_EQ(unexplained("99.58–99.80%", study), "");
  EXPECT_EQ(unexplained("99.57–99.80%", study), "1: 99.57%\n");
  EXPECT_EQ(unexplained("10,000 and 10000", study), "");
  EXPECT_EQ(unexplained("-10,000", study), "1: -10000\n");
  EXPECT_EQ(unexplained("fp32, top-1, a 95% interval", study), "");
  EXPECT_EQ(unexplained("fp33", study), "1: 33\n");
}

}  // namespace
}  // namespace assay::study
