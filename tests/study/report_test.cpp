#include "study/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <set>
#include <vector>

#include "study/fixtures/example_study.h"
#include "study/html.h"
#include "study/report_text.h"

namespace assay::study {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What is wrong with the nesting of a page's elements; empty where nothing is. Attributes must be
/// quoted, which is what escaping relies on.
std::string nesting_problem(const std::string& page) {
  const std::set<std::string> empty{"meta", "img", "circle", "rect", "path", "line"};
  std::vector<std::string> open;
  for (auto at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    if (page.compare(at, 2, "<!") == 0) continue;
    const bool closes = page[at + 1] == '/';
    auto end = at + (closes ? 2 : 1);
    std::string name;
    while (end < page.size() && std::isalnum(static_cast<unsigned char>(page[end])) != 0) {
      name += page[end++];
    }
    if (name.empty()) return "a bare < at " + page.substr(at, 40);
    bool quoted = false;
    while (end < page.size() && (quoted || page[end] != '>')) {
      if (page[end] == '"') quoted = !quoted;
      if (!quoted && page[end] == '<') return "< inside a tag at " + page.substr(at, 60);
      ++end;
    }
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes another element";
      open.pop_back();
    } else if (!empty.contains(name) && page[end - 1] != '/') {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

TEST(StudyReport, IsOneWellFormedFile) {
  const std::string page = report_html(example_study());
  EXPECT_EQ(nesting_problem(page), "");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  for (const char* outside : {"http://", "https://", "<script", "<link", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("name=\"viewport\""));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(StudyReport, LinksOnlyToWhatIsThere) {
  const std::string page = report_html(example_study());
  for (auto at = page.find("href=\"#"); at != std::string::npos;
       at = page.find("href=\"#", at + 1)) {
    const auto begin = at + 7;
    const std::string target = page.substr(begin, page.find('"', begin) - begin);
    EXPECT_THAT(page, HasSubstr("id=\"" + target + "\""));
  }
}

TEST(StudyReport, HasEveryPartAndChart) {
  const std::string page = report_html(example_study());
  for (const char* part :
       {"The answer", "How to read this", "How far to trust it", "Speed against quality",
        "Closeness to fp32 (SQNR)", "Images that got another answer, in percent",
        "Size of the file that ships", "Call, batch 1: every sample", "End to end, batch 1",
        "fp8-vit-max: what is rounded", "fp8-vit-max: how ranges are chosen",
        "fp8-vit-max: one layer at a time", "fp8-vit-max: room for large numbers",
        "The search, step by step (budget 30.2 dB, 300 images)", "Not measured",
        "<span class=\"tag\">Hypothesis</span>", "When to revisit", "Method"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, HasSubstr("Not timed, so not here: fp8-vit-max and nvfp4-weights."));
  EXPECT_THAT(page, HasSubstr("<img src=\"data:image/png;base64,iVBOR"));
  EXPECT_THAT(page, HasSubstr(">largest of the format<"))
      << "one line for all layers, whatever scales they have";
  EXPECT_THAT(page, HasSubstr("✓ Ship"));
  EXPECT_THAT(page, HasSubstr("✗ do not ship"));
}

TEST(StudyReport, CallsLogitsOfAFileWhatTheyAre) {
  Study study = example_study();
  for (Model& model : study.models)
    model.reference = {"file", "timm.safetensors", std::string(64, 'c'), model.reference.top1};
  const std::string page = report_html(study);
  for (const char* words : {"Agrees with fp32", "answer as fp32", "loser to fp32",
                            "loseness to fp32", "fp32's best", "fp32 is right"})
    EXPECT_THAT(page, testing::Not(HasSubstr(words)));
  for (const char* words : {"Agrees with the reference", "same answer as the reference",
                            "Closeness to the reference", "<dt>The reference</dt>"})
    EXPECT_THAT(page, HasSubstr(words));
}

TEST(StudyReport, SaysWhatAStepOfASearchIsAbout) {
  Study study = example_study();
  study.models[0].searches[0].steps.push_back({"", "the budget is met", 31});
  const std::string page = report_html(study);
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">the whole network</th>"));
  EXPECT_THAT(page, testing::Not(HasSubstr("<code></code>")));
}

TEST(StudyReport, EscapesTextThatNobodyVouchesFor) {
  const std::string evil = "</style></script><script>alert(\"1\")</script>' onload='x' `<b>`";
  Study study = example_study();
  study.title = study.question = study.name = study.created = study.assay = evil;
  study.git = evil;
  study.spec.text = evil;
  study.machine.cpu_model = study.machine.isa = study.machine.os = evil;
  study.machine.compiler = evil;
  study.data.path = study.data.sha256 = evil;
  study.data.classes = {evil, evil};
  study.thresholds = {{evil, 1}};
  study.measuring = {evil, evil, 1, 1, 1, {{evil, evil}}};
  study.not_measured = study.hypotheses = study.revisit = {evil};
  Model& model = study.models[0];
  model.name = model.architecture = model.checkpoint = evil;
  model.reference = {"file", evil, evil, std::nullopt};
  Variant& variant = model.variants[3];
  for (Ablation& entry : model.ablations) entry.variant = evil;
  for (Calibrator& entry : model.calibrators) entry.variant = entry.observer = evil;
  for (LayerSensitivity& entry : model.sensitivity) {
    entry.variant = entry.layer = entry.role = evil;
  }
  for (Search& search : model.searches) {
    search.variant = evil;
    for (SearchStep& step : search.steps) step.layer = step.change = evil;
  }
  variant.name = variant.precision = variant.recipe = variant.plan = evil;
  variant.speed_reason = evil;
  variant.emulated = {evil};
  variant.multiply_adds = MultiplyAdds::of({{evil, 3}});
  variant.verdict.reasons = {evil};
  for (Layer& layer : variant.layers) {
    layer.layer = layer.role = layer.precision = layer.reason = evil;
  }
  for (StressInput& input : variant.nonfinite->stress) input.name = evil;
  for (LayerRange& range : variant.nonfinite->layers) range.layer = range.format = evil;
  const std::string page = report_html(study);
  EXPECT_EQ(nesting_problem(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("onload='")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
}

TEST(StudyReport, BearsVeryLongNames) {
  Study study = example_study();
  const std::string name(5000, 'x');
  for (Ablation& entry : study.models[0].ablations) entry.variant = name;
  for (Calibrator& entry : study.models[0].calibrators) entry.variant = name;
  for (LayerSensitivity& entry : study.models[0].sensitivity) entry.variant = name;
  study.models[0].searches.clear();
  study.models[0].variants[2].name = name;
  EXPECT_EQ(nesting_problem(report_html(study)), "");
}

TEST(StudyReport, IsCompleteWithoutOptionalParts) {
  Study study = example_study();
  study.models.erase(study.models.begin());
  study.git.reset();
  study.machine.load_at_start.clear();
  study.data.classes.clear();
  study.hypotheses.clear();
  EXPECT_EQ(nesting_problem(report_html(study)), "");
  study.models[0].variants.clear();
  EXPECT_THAT(report_html(study), HasSubstr("No variant was measured."));
  study.models.clear();
  EXPECT_EQ(nesting_problem(report_html(study)), "");
}

TEST(StudyReport, BearsFiguresThatAreNotFinite) {
  Study study = example_study();
  for (Variant& variant : study.models[0].variants) {
    variant.quality.sqnr_db = {NAN, {-INFINITY, INFINITY}};
    variant.quality.kl = {INFINITY, {NAN, NAN}};
    variant.nonfinite->layers[0].largest = NAN;
    variant.nonfinite->layers[1].largest = INFINITY;
    variant.nonfinite->stress[0] = {"zeros", false, INFINITY};
  }
  for (LayerSensitivity& layer : study.models[0].sensitivity) layer.error.sqnr_db = NAN;
  for (Ablation& ablation : study.models[0].ablations) ablation.error.sqnr_db = -INFINITY;
  const std::string page = report_html(study);
  EXPECT_EQ(nesting_problem(page), "");
  EXPECT_THAT(page, HasSubstr("not finite"));
  EXPECT_THAT(page, Not(HasSubstr("nan%")));
  EXPECT_THAT(page, Not(HasSubstr("inf%")));
}

TEST(ReportText, WritesFigures) {
  EXPECT_EQ(percent(0.98715), "98.72%");
  EXPECT_EQ(percent(Interval{0.5, 1}), "50.00–100.00%");
  EXPECT_EQ(decibels(24.25), "24.2 dB");
  EXPECT_EQ(decibels(INFINITY), "no noise");
  EXPECT_EQ(decibels(Interval{20, INFINITY}), "20.0 dB–no noise");
  EXPECT_EQ(milliseconds(1.23456), "1.235 ms");
  EXPECT_EQ(milliseconds(Interval{9.5, 10.25}), "9.500–10.25 ms");
  EXPECT_EQ(times(1.425), "1.43×");
  EXPECT_EQ(megabytes(3'412'345), "3.41 MB");
  EXPECT_EQ(count(1234567), "1,234,567");
  EXPECT_EQ(count(12), "12");
  EXPECT_EQ(figure(0.00012345), "0.000123");
  EXPECT_EQ(figure(65504), "65,504");
  EXPECT_EQ(figure(-1234), "-1,234");
  EXPECT_EQ(figure(999.7), "1,000");
  EXPECT_EQ(figure(NAN), "not finite");
}

TEST(ReportText, TurnsMarkedTextIntoBothLanguages) {
  const std::string marked = code("a`|_") + " is " + plain("<5 `or` *");
  EXPECT_EQ(markdown(marked), "`a'\\|_` is \\<5 'or' \\*");
  EXPECT_EQ(html(marked), "<code>a&#39;|_</code> is &lt;5 &#39;or&#39; *");
  EXPECT_EQ(html("`unclosed"), "<code>unclosed</code>");
}

}  // namespace
}  // namespace assay::study
