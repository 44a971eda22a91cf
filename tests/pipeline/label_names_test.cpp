#include "pipeline/label_names.h"

#include "pipeline/files.h"

namespace assay::pipeline {
namespace {

const std::vector<std::string> kLabels = {"t-shirt/top", "Ankle boot", "crane", "crane",
                                          "c",           "c++",        "7",     "tench, Tinca"};

TEST(LabelNames, MatchesLettersAndDigitsWithoutCase) {
  const LabelNames labels(kLabels);
  EXPECT_EQ(labels.find("t-shirt/top"), 0);
  EXPECT_EQ(labels.find("T-Shirt_Top"), 0);
  EXPECT_EQ(labels.find("ankle_boot"), 1);
  EXPECT_EQ(labels.find("tench__tinca"), 7);
  EXPECT_EQ(labels.find("ankleboot"), std::nullopt);
  EXPECT_EQ(labels.find("boot"), std::nullopt);
  EXPECT_EQ(labels.find(""), std::nullopt);
  EXPECT_EQ(labels.find("--"), std::nullopt);
}

TEST(LabelNames, ANameThatTwoLabelsShareFindsNeitherUnlessItIsExact) {
  const LabelNames labels(kLabels);
  EXPECT_EQ(labels.find("crane"), std::nullopt);
  EXPECT_EQ(labels.find("c"), 4);
  EXPECT_EQ(labels.find("c++"), 5);
  EXPECT_EQ(labels.find("C"), std::nullopt);
}

TEST(LabelNames, ParsesNamesFirstAndThenWholeNumbers) {
  const LabelNames labels(kLabels);
  EXPECT_EQ(labels.parse("7", "here"), 6);
  EXPECT_EQ(labels.parse("0", "here"), 0);
  EXPECT_EQ(labels.parse("ankle boot", "here"), 1);
  for (const char* text : {"8", "-1", "1.0", "1 ", "boot", "", "99999999999999999999"}) {
    const auto outcome = test::outcome_of([&] { (void)labels.parse(text, "here"); });
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input) << text;
    EXPECT_TRUE(outcome.message.starts_with("here: ")) << outcome.message;
  }
}

}  // namespace
}  // namespace assay::pipeline
