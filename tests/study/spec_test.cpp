#include "study/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/error.h"

namespace assay::study {
namespace {

using testing::HasSubstr;

const std::string kMinimal = R"(name = "tiny"
title = "A title"
question = "A question?"
data = "images.csv"
[[model]]
name = "m"
checkpoint = "somewhere"
[[variant]]
name = "fp32"
recipe = "fp32"
)";

std::string complaint(const std::string& text) {
  try {
    static_cast<void>(parse_spec(text, "s.toml", "folder"));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "nothing";
}

TEST(Spec, ReadsWhatItSaysAndFillsInTheRest) {
  const Spec spec = parse_spec(kMinimal + R"([[variant]]
name = "auto"
recipe = "auto"
from = "fp8-vit-max"
gain_db = 6
keep_multiply_adds = 0.7
[calibration]
stride = 20
limit = 500
[ablation]
images = 100
sensitivity = ["auto"]
[speed]
batches = [1, 8]
[thresholds]
agreement = 0.99
)",
                               "s.toml", "folder");
  EXPECT_EQ(spec.name, "tiny");
  EXPECT_EQ(spec.resolve(spec.data), "folder/images.csv");
  EXPECT_EQ(spec.calibration.stride, 20U);
  EXPECT_EQ(spec.calibration.limit, 500U);
  EXPECT_EQ(spec.held_out.stride, 1U);
  EXPECT_EQ(spec.held_out.limit, 0U);
  ASSERT_EQ(spec.variants.size(), 2U);
  EXPECT_EQ(spec.variants[1].search->gain_db, 6);
  EXPECT_EQ(spec.variants[1].search->keep_multiply_adds, 0.7);
  EXPECT_EQ(spec.variants[1].level, 1);
  EXPECT_EQ(spec.ablation.images, 100U);
  EXPECT_EQ(spec.speed.batches, (std::vector<std::uint64_t>{1, 8}));
  EXPECT_EQ(spec.thresholds.at("agreement"), 0.99);
  EXPECT_EQ(parse_spec(kMinimal, "s.toml", "").ablation.images, 500U);
}

TEST(Spec, RefusesUnknownKeysWithTheirLine) {
  EXPECT_THAT(complaint(kMinimal + "[speed]\nround = 5\n"), HasSubstr("s.toml:12"));
  EXPECT_THAT(complaint("colour = 1\n" + kMinimal), HasSubstr("s.toml:1"));
  EXPECT_THAT(complaint(kMinimal + "from = \"fp8-vit-max\"\n"), HasSubstr("from"));
}

TEST(Spec, RefusesWhatCannotBe) {
  EXPECT_THAT(complaint("name = \"a/b\"\n"), HasSubstr("name"));
  EXPECT_THAT(complaint(kMinimal + "[[variant]]\nname = \"fp32\"\nrecipe = \"bf16\"\n"),
              HasSubstr("twice"));
  EXPECT_THAT(complaint(kMinimal + "[[variant]]\nname = \"a\"\nrecipe = \"auto\"\nfrom = \"x\"\n"),
              HasSubstr("gain_db"));
  EXPECT_THAT(complaint(kMinimal + "[[variant]]\nname = \"b\"\nrecipe = \"bf16\"\nlevel = 3\n"),
              HasSubstr("level"));
  EXPECT_THAT(
      complaint(kMinimal + "[[variant]]\nname = \"b\"\nrecipe = \"bf16\"\nbackend = \"tpu\"\n"),
      HasSubstr("backend"));
  EXPECT_THAT(complaint(kMinimal + "[ablation]\nvariants = [\"none\"]\n"), HasSubstr("'none'"));
  EXPECT_THAT(complaint(kMinimal + "[ablation]\nvariants = [\"fp32\"]\n"),
              HasSubstr("rounds nothing"));
  EXPECT_THAT(complaint(kMinimal + "[thresholds]\nagreement = 99\n"), HasSubstr("agreement"));
  EXPECT_THAT(complaint(kMinimal + "[calibration]\nstride = 0\n"), HasSubstr("stride"));
}

TEST(Spec, RefusesThreadsWhereTheBackendTakesNone) {
  const std::string variant =
      "[[variant]]\nname = \"oracle\"\nrecipe = \"bf16\"\nbackend = \"reference\"\n";
  const std::string found = complaint(kMinimal + variant + "threads = 2\n");
  EXPECT_THAT(found, HasSubstr("s.toml:15: variant 'oracle': threads"));
  EXPECT_THAT(found, HasSubstr("reference does not take it: leave threads out"));
  EXPECT_EQ(complaint("threads = 2\n" + kMinimal + variant), "nothing") << "the study's default";
}

TEST(Spec, RefusesASearchThatHasNothingToStartFrom) {
  for (const std::string from : {"auto", "fp32"})
    EXPECT_THAT(complaint(kMinimal + "[[variant]]\nname = \"a\"\nrecipe = \"auto\"\nfrom = \"" +
                          from + "\"\ngain_db = 3\n"),
                HasSubstr("s.toml:14: variant[1].from is '" + from + "'"));
}

TEST(Spec, RefusesTwoSearchesThatWouldBeOneFile) {
  std::string text = kMinimal + "[[model]]\nname = \"m.a\"\ncheckpoint = \"elsewhere\"\n";
  for (const std::string name : {"a.b", "b"})
    text += "[[variant]]\nname = \"" + name +
            "\"\nrecipe = \"auto\"\nfrom = \"fp8-vit-max\"\ngain_db = 3\n";
  EXPECT_THAT(complaint(text), HasSubstr("model 'm' with variant 'a.b' and model 'm.a' with "
                                         "variant 'b' would both be kept as m.a.b.toml"));
}

TEST(Spec, RefusesEntriesThatAreGivenTwice) {
  EXPECT_THAT(complaint(kMinimal + "[speed]\nbatches = [8, 1, 8]\n"),
              HasSubstr("s.toml:12: batches: 8 is given twice"));
  EXPECT_THAT(complaint(kMinimal + "[ablation]\nobservers = [\"max\", \"max\"]\n"),
              HasSubstr("observers: max is given twice"));
  EXPECT_THAT(complaint(kMinimal + "[[variant]]\nname = \"b\"\nrecipe = \"bf16\"\n" +
                        "[ablation]\nvariants = [\"b\", \"b\"]\n"),
              HasSubstr("variants: b is given twice"));
}

TEST(Spec, NeedsTheVariantThatAllAreComparedWith) {
  std::string other = kMinimal;
  other.replace(other.rfind("recipe = \"fp32\""), 15, "recipe = \"bf16\"");
  EXPECT_THAT(complaint(other), HasSubstr("compared with"));
}

}  // namespace
}  // namespace assay::study
