#include "study/schema.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "assay/error.h"
#include "base/file.h"
#include "study/fixtures/example_study.h"

namespace assay::study {
namespace {

/// The message with which the example, changed by `change`, is refused.
template <typename Change>
std::string refusal(const Change& change, ErrorKind kind = ErrorKind::bad_input) {
  Json json = to_json(example_study());
  change(json);
  try {
    from_json(json, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "was accepted";
  return "";
}

TEST(StudySchema, WritesAndReadsTheSame) {
  const std::string text = to_text(example_study());
  EXPECT_EQ(to_text(parse_study(text, "x")), text);
  EXPECT_EQ(text, read_text(example_file(), 1 << 20)) << "write_study(example_study()) makes it";
}

TEST(StudySchema, KeepsFiguresThatAreNotFinite) {
  Study study = example_study();
  study.models[0].variants[1].quality.sqnr_db = {NAN, {-INFINITY, INFINITY}};
  const Study read = parse_study(to_text(study), "x");
  const Estimate& sqnr = read.models[0].variants[1].quality.sqnr_db;
  EXPECT_TRUE(std::isnan(sqnr.value));
  EXPECT_EQ(sqnr.interval.low, -INFINITY);
  EXPECT_EQ(sqnr.interval.high, INFINITY);
  EXPECT_EQ(read.models[0].variants[0].quality.sqnr_db.value, INFINITY);
}

TEST(StudySchema, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(refusal([](Json& j) { j["models"][0]["variants"][2]["quality"].erase("top1"); }),
            "x.json: models[0].variants[2].quality.top1: is missing");
  EXPECT_EQ(refusal([](Json& j) { j["models"][0]["variants"][2]["quality"]["top1"] = 1.5; }),
            "x.json: models[0].variants[2].quality.top1: needs to be a share from 0 to 1");
  EXPECT_EQ(refusal([](Json& j) { j["machine"]["cores"] = -2; }),
            "x.json: machine.cores: needs a whole number, 0 or more, found number");
  EXPECT_EQ(refusal([](Json& j) { j["title"] = nullptr; }),
            "x.json: title: needs a text, found null");
  EXPECT_EQ(refusal([](Json& j) { j["surprise"] = 1; }),
            "x.json: surprise: is no field of a study");
  EXPECT_EQ(refusal([](Json& j) { j["thresholds"]["agreement"] = "much"; }),
            "x.json: thresholds.agreement: needs a number, found string");
  EXPECT_EQ(refusal([](Json& j) { j = Json::array(); }),
            "x.json: the study: needs an object, found array");
}

TEST(StudySchema, RefusesWhatNoMeasurementGives) {
  const auto variant = [](Json& j) -> Json& { return j["models"][0]["variants"][1]; };
  const auto speed = [&](Json& j) -> Json& { return variant(j)["speed"]["batch"][0]; };
  EXPECT_NE(refusal([&](Json& j) { speed(j)["median_ms"] = "NaN"; }).find("median_ms"),
            std::string::npos);
  EXPECT_NE(refusal([&](Json& j) { speed(j)["samples_ms"] = Json::array(); }).find("samples_ms"),
            std::string::npos);
  EXPECT_NE(refusal([&](Json& j) {
              speed(j)["interval_ms"] = {2, 1};
            }).find("above its high end"),
            std::string::npos);
  EXPECT_NE(refusal([&](Json& j) { speed(j)["boundary"] = "moon"; }).find("end_to_end"),
            std::string::npos);
  EXPECT_NE(refusal([&](Json& j) { variant(j)["speed"] = nullptr; }).find("speed_reason"),
            std::string::npos);
  EXPECT_NE(refusal([&](Json& j) {
              variant(j)["multiply_adds"]["share"]["bf16"] = 0.5;
            }).find("part of the total"),
            std::string::npos);
  EXPECT_NE(refusal([&](Json& j) {
              variant(j)["changed"][0]["thumbnail"] = "data:image/png;base64,\"><script>";
            }).find("thumbnail"),
            std::string::npos);
  EXPECT_NE(refusal([&](Json& j) {
              variant(j)["verdict"]["failed"] = {"agreement"};
            }).find("verdict.failed"),
            std::string::npos);
}

TEST(StudySchema, ChecksNamesAgainstEachOther) {
  EXPECT_EQ(refusal([](Json& j) { j["models"][1]["name"] = "tiny_vit"; }),
            "x.json: models[1].name: 'tiny_vit' appears twice");
  EXPECT_EQ(refusal([](Json& j) { j["models"][0]["ablations"][1]["variant"] = "gone"; }),
            "x.json: models[0].ablations[1].variant: no variant of this model is called 'gone'");
}

TEST(StudySchema, RefusesAnotherVersion) {
  EXPECT_EQ(refusal([](Json& j) { j["schema"] = 2U; }, ErrorKind::unsupported),
            "x.json: schema 2, this build of Assay knows 1");
}

TEST(StudySchema, WritesNothingThatItWouldNotRead) {
  Study study = example_study();
  study.models[0].variants[1].speed.batch[0].median_ms = NAN;
  EXPECT_THROW(to_text(study), Error);
  study = example_study();
  study.title = "\xff";
  EXPECT_THROW(to_text(study), Error);
}

TEST(StudySchema, MayHaveNothingToSay) {
  Study study = example_study();
  study.models[0].variants.clear();
  study.models[0].ablations.clear();
  study.models[0].calibrators.clear();
  study.models[0].sensitivity.clear();
  study.models[0].searches.clear();
  EXPECT_EQ(parse_study(to_text(study), "x").models[0].variants.size(), 0U);
  study.models.clear();
  EXPECT_EQ(parse_study(to_text(study), "x").models.size(), 0U);
}

TEST(MultiplyAddsOf, SumsAndShares) {
  const MultiplyAdds work = MultiplyAdds::of({{"fp8", 3}, {"fp16", 1}});
  EXPECT_EQ(work.total, 4);
  EXPECT_EQ(work.share.at("fp8"), 0.75);
  EXPECT_EQ(MultiplyAdds::of({}).total, 0);
}

}  // namespace
}  // namespace assay::study
