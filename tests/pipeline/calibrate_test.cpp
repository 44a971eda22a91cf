// Images through an fp32 network to a calibration.
#include "pipeline/calibrate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "graph/serialize.h"
#include "pipeline/datasets.h"
#include "quant/observe.h"

namespace assay {
namespace {

using pipeline::CalibrateOptions;
using pipeline::CalibrateReport;
using testing::ElementsAre;
using testing::HasSubstr;

class Calibrate : public testing::Test {
 protected:
  /// A list of `count` images, one colour after the other.
  static std::string list(int count) {
    test::put("0.png", test::red_png());
    test::put("1.png", test::green_png());
    test::put("2.png", test::png(6, 5, {9, 99, 199}));
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}.png\n", i % 3);
    return test::put("list.csv", test::to_bytes(text)).string();
  }

  CalibrateReport run(const std::string& path, const CalibrateOptions& options = {}) {
    const auto dataset = pipeline::open_dataset(path, bundle_.labels, {options.selection, false});
    return pipeline::calibrate(bundle_, *dataset, options);
  }

  bundle::Bundle bundle_ = test::tiny_bundle();
};

TEST_F(Calibrate, SaysWhatWasRun) {
  CalibrateOptions options;
  options.observers = {"mse", "max"};
  options.selection = {2, 1, 3};
  const quant::Calibration calibration = run(list(20), options).calibration;
  EXPECT_EQ(calibration.graph, graph::fingerprint(*bundle_.graph));
  EXPECT_EQ(calibration.architecture, bundle_.provenance.architecture);
  const quant::CalibrationSource wanted{{"max", "mse"}, 3, 2, 1, 3};
  EXPECT_EQ(calibration.source, wanted) << "in the order that observers have";
  ASSERT_EQ(calibration.operands.size(), 1U);
  EXPECT_EQ(calibration.operands[0].layer, "head");
}

TEST_F(Calibrate, AllObserversUnlessToldOtherwise) {
  const quant::Calibration calibration = run(list(3)).calibration;
  EXPECT_EQ(calibration.source.observers.size(), quant::observers().size());
  EXPECT_EQ(quant::parse_calibration(quant::to_text(calibration), "c.json"), calibration);
}

TEST_F(Calibrate, DoesNotDependOnThreads) {
  const std::string path = list(37);
  CalibrateOptions options;
  options.threads = 1;
  const CalibrateReport one = run(path, options);
  EXPECT_EQ(one.calibration.source.images, 37U);
  for (const int threads : {2, 5}) {
    options.threads = threads;
    EXPECT_EQ(run(path, options).calibration, one.calibration) << threads;
  }
}

TEST_F(Calibrate, TellsHowFarItIs) {
  CalibrateOptions options;
  options.threads = 1;
  std::vector<std::uint64_t> steps;
  options.progress = [&](std::uint64_t done, std::optional<std::uint64_t> total) {
    steps.push_back(done);
    EXPECT_EQ(total, 10U);
  };
  run(list(10), options);
  EXPECT_TRUE(std::ranges::is_sorted(steps));
  EXPECT_EQ(steps.back(), 10U);
}

TEST_F(Calibrate, AnImageThatCannotBeReadIsNamedAndLeftOut) {
  test::put("0.png", test::red_png());
  test::put("bad.png", test::to_bytes("no picture"));
  const std::string path =
      test::put("list.csv", test::to_bytes("0.png\nbad.png\ngone.png\n0.png\n")).string();
  const CalibrateReport report = run(path);
  EXPECT_EQ(report.calibration.source.images, 2U);
  ASSERT_EQ(report.failed.size(), 2U);
  EXPECT_THAT(report.failed[0].name, HasSubstr("bad.png"));
  EXPECT_THAT(report.failed[1].message, HasSubstr("gone.png"));
}

TEST_F(Calibrate, WhatIsBeyondReachNamesImageAndLayer) {
  bundle_.transform.std = {1e-32, 1, 1};
  for (const int threads : {1, 3}) {
    CalibrateOptions options;
    options.threads = threads;
    const auto outcome = test::outcome_of([&] { run(list(9), options); });
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
    EXPECT_THAT(outcome.message, HasSubstr("0.png: layer 'head'")) << "the first of the data";
  }
}

TEST_F(Calibrate, RefusesWhatItCannotDo) {
  CalibrateOptions options;
  options.observers = {"max", "kl"};
  const auto unknown = test::outcome_of([&] { run(list(3), options); });
  EXPECT_EQ(unknown.kind, ErrorKind::unsupported);
  EXPECT_THAT(unknown.message, HasSubstr("observer 'kl'"));
  options.observers = {};
  options.threads = -1;
  EXPECT_THAT(test::outcome_of([&] { run(list(3), options); }).message, HasSubstr("threads -1"));
  options.threads = 1;
  options.selection.offset = 3;
  EXPECT_THAT(test::outcome_of([&] { run(list(3), options); }).message, HasSubstr("no image"));
  bundle_.precision = "bf16";
  EXPECT_THAT(test::outcome_of([&] { run(list(3)); }).message, HasSubstr("--precision fp32"));
}

}  // namespace
}  // namespace assay
