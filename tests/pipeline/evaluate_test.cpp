// A dataset through a classifier to a report.
#include "pipeline/evaluate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "checkpoint/safetensors.h"
#include "pipeline/datasets.h"
#include "pipeline/fake_plan.h"

namespace assay {
namespace {

using pipeline::EvalOptions;
using pipeline::EvalReport;
using testing::ElementsAre;
using testing::HasSubstr;

class Evaluate : public testing::Test {
 protected:
  /// A list of `count` images, one colour after the other; every fifth has the wrong label.
  std::string list(int count) {
    test::put("0.png", test::red_png());
    test::put("1.png", test::green_png());
    test::put("2.png", test::blue_png());
    std::string text;
    for (int i = 0; i < count; ++i)
      text += fmt::format("{}.png,{}\n", i % 3, i % 5 == 4 ? (i + 1) % 3 : i % 3);
    return test::put("list.csv", test::to_bytes(text)).string();
  }

  EvalReport run(const std::string& path, const EvalOptions& options = {},
                 const pipeline::Selection& selection = {}) {
    const auto dataset = pipeline::open_dataset(path, classifier_.labels(), {selection, true});
    return pipeline::evaluate(classifier_, *dataset, options);
  }

  /// The right logits of `count` images, off by 0.25 in the first of image `off`.
  std::filesystem::path reference(int count, int off, std::int64_t classes = 3,
                                  const std::vector<std::int64_t>& labels = {}) {
    std::vector<float> logits;
    for (int i = 0; i < count; ++i) {
      std::array<float, 3> colour{};
      colour[static_cast<std::size_t>(i % 3)] = 1;
      for (const float logit : test::tiny_logits(colour)) logits.push_back(logit);
      if (i == off) logits[logits.size() - 3] += 0.25F;
    }
    const auto owner = std::make_shared<std::vector<float>>(logits);
    checkpoint::Weights weights;
    weights.add({"logits",
                 DType::f32,
                 {static_cast<std::int64_t>(logits.size()) / classes, classes},
                 std::as_bytes(std::span(*owner)),
                 owner});
    if (!labels.empty())
      weights.add({"labels",
                   DType::i64,
                   {static_cast<std::int64_t>(labels.size())},
                   std::as_bytes(std::span(labels)),
                   nullptr});
    const auto path = test::temporary("reference.safetensors");
    checkpoint::write_safetensors(path, weights);
    return path;
  }

  test::FakeCounters counters_;
  Classifier classifier_ = test::fake_classifier(counters_);
};

TEST_F(Evaluate, CountsWhatIsRight) {
  const EvalReport report = run(list(50));
  EXPECT_EQ(report.images, 50u);
  EXPECT_EQ(report.top1_correct, 40u);
  EXPECT_EQ(report.top5_correct, 50u);
  EXPECT_EQ(report.nonfinite, 0u);
  EXPECT_TRUE(report.failed.empty());
  EXPECT_FALSE(report.reference);
}

TEST_F(Evaluate, DoesNotDependOnThreadsOrBatch) {
  const std::string path = list(37);
  EvalOptions options;
  options.reference = reference(37, 5);
  const EvalReport first = run(path, options);
  for (const int threads : {1, 3})
    for (const int batch : {1, 2}) {
      options.threads = threads;
      options.batch = batch;
      const EvalReport report = run(path, options);
      EXPECT_EQ(report.images, first.images);
      EXPECT_EQ(report.top1_correct, first.top1_correct);
      EXPECT_EQ(report.reference->max_abs_diff, first.reference->max_abs_diff);
      EXPECT_EQ(report.reference->mean_abs_diff, first.reference->mean_abs_diff);
    }
}

TEST_F(Evaluate, ComparesRowByIndexWhateverIsSelected) {
  EvalOptions options;
  options.reference = reference(20, 7);
  const EvalReport all = run(list(20), options);
  EXPECT_EQ(all.reference->max_abs_diff, 0.25);
  EXPECT_DOUBLE_EQ(all.reference->mean_abs_diff, 0.25 / 60);
  EXPECT_EQ(all.reference->agreement, 1);
  EXPECT_EQ(run(list(20), options, {.stride = 3, .offset = 1}).reference->max_abs_diff, 0.25);
  EXPECT_EQ(run(list(20), options, {.stride = 3, .offset = 2}).reference->max_abs_diff, 0);
}

TEST_F(Evaluate, AReferenceThatDoesNotFitIsRefused) {
  const std::string path = list(6);
  const auto message = [&](const std::filesystem::path& file) {
    EvalOptions options;
    options.reference = file;
    const auto outcome = test::outcome_of([&] { (void)run(path, options); });
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input) << outcome.message;
    return outcome.message;
  };
  EXPECT_THAT(message(reference(7, 0)), HasSubstr("7 rows, but the dataset has 6"));
  EXPECT_THAT(message(reference(6, 0, 2)),
              testing::AllOf(HasSubstr("is [9, 2]"), HasSubstr("[images, 3]")));
  EXPECT_THAT(message(reference(6, 0, 3, {0, 1, 2, 0, 2, 1})),
              HasSubstr("image 5 has the label 1"));
  EXPECT_THAT(message(reference(6, 0, 3, {0, 1})),
              HasSubstr("\"labels\" is I64 [2], but must be I64 [6]"));
}

TEST_F(Evaluate, AReferenceOfWholeNumbersIsRefusedByName) {
  const auto path = test::temporary("whole.safetensors");
  const std::vector<std::int64_t> numbers(18);
  checkpoint::Weights weights;
  weights.add({"logits", DType::i64, {6, 3}, std::as_bytes(std::span(numbers)), nullptr});
  checkpoint::write_safetensors(path, weights);
  EvalOptions options;
  options.reference = path;
  const auto outcome = test::outcome_of([&] { (void)run(list(6), options); });
  EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
  EXPECT_THAT(outcome.message, HasSubstr(path.string() + ": \"logits\" is I64"));
}

TEST_F(Evaluate, AReferenceLongerThanShardsIsRefusedAtTheirEnd) {
  std::vector<test::TarEntry> entries;
  for (int i = 0; i < 6; ++i) {
    entries.push_back({fmt::format("{}.png", i), test::red_png()});
    entries.push_back({fmt::format("{}.cls", i), test::to_bytes("0")});
  }
  const auto shard = test::put("x.tar", test::tar(entries)).string();
  EvalOptions options;
  options.reference = reference(6, -1);
  EXPECT_EQ(run(shard, options).images, 6u);
  EXPECT_EQ(run(shard, options, {.stride = 4}).images, 2u);
  options.reference = reference(9, -1);
  for (const std::uint64_t stride : {1, 4}) {
    const auto outcome = test::outcome_of([&] { (void)run(shard, options, {.stride = stride}); });
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input) << stride;
    EXPECT_THAT(outcome.message, HasSubstr("9 rows, but the dataset has 6"));
  }
  EXPECT_EQ(run(shard, options, {.limit = 2}).images, 2u);  // not read to its end
}

TEST_F(Evaluate, ImagesThatFailAreListedAndTheRestGoesOn) {
  list(3);
  test::put("text.png", test::to_bytes("no image"));
  const auto path =
      test::put("bad.csv", test::to_bytes("0.png,0\nabsent.png,0\n1.png,1\ntext.png,0\n2.png,2\n"));
  const EvalReport report = run(path.string());
  EXPECT_EQ(report.images, 3u);
  EXPECT_EQ(report.top1_correct, 3u);
  ASSERT_EQ(report.failed.size(), 2u);
  EXPECT_EQ(report.failed[0].name, "absent.png");
  EXPECT_THAT(report.failed[0].message, HasSubstr("absent.png"));
  EXPECT_EQ(report.failed[1].name, "text.png");
}

TEST_F(Evaluate, TellsItsProgress) {
  EvalOptions options;
  std::vector<std::uint64_t> seen;
  options.threads = 1;
  options.progress = [&](std::uint64_t done, std::optional<std::uint64_t> total) {
    EXPECT_EQ(total, 20u);
    seen.push_back(done);
  };
  (void)run(list(20), options);
  EXPECT_THAT(seen, ElementsAre(8, 16, 20));
}

TEST_F(Evaluate, AnEmptySelectionAndBadOptionsAreRefused) {
  const auto empty = test::outcome_of([&] { (void)run(list(3), {}, {.offset = 3}); });
  EXPECT_EQ(empty.kind, ErrorKind::bad_input);
  EXPECT_THAT(empty.message, HasSubstr("list.csv (3 images; offset 3, stride 1, no limit)"));
  EvalOptions options;
  options.batch = 3;
  EXPECT_EQ(test::outcome_of([&] { (void)run(list(3), options); }).kind, ErrorKind::bad_input);
  options.batch = -1;
  EXPECT_EQ(test::outcome_of([&] { (void)run(list(3), options); }).kind, ErrorKind::bad_input);
  options.batch = 1;
  options.threads = -1;
  EXPECT_EQ(test::outcome_of([&] { (void)run(list(3), options); }).kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace assay
