// What a Classifier does around its plan.
#include <gmock/gmock.h>

#include <thread>

#include "bundle/count_allocations.h"
#include "pipeline/fake_plan.h"
#include "pipeline/files.h"

namespace assay {
namespace {

using test::outcome_of;
using testing::ElementsAre;
using testing::HasSubstr;

class ClassifierTest : public testing::Test {
 protected:
  test::FakeCounters counters_;
  Classifier classifier_ = test::fake_classifier(counters_);
};

TEST_F(ClassifierTest, SaysWhatItIs) {
  const ModelInfo& info = classifier_.info();
  EXPECT_EQ(info.architecture, "tiny");
  EXPECT_EQ(info.precision, "fp32");
  EXPECT_EQ(info.plan, "fake");
  EXPECT_EQ(info.input_height, 4);
  EXPECT_EQ(info.input_width, 4);
  EXPECT_EQ(info.classes, 3);
  EXPECT_EQ(info.features, 3);
  EXPECT_EQ(info.max_batch, 2);
  EXPECT_THAT(classifier_.labels(), ElementsAre("red", "green", "blue"));
}

TEST_F(ClassifierTest, ClassifiesPixelsFilesAndBytesAlike) {
  const auto rgb = test::solid(7, 5, {0, 255, 0});
  const Classification of_pixels = classifier_.classify({rgb, 7, 5});
  EXPECT_THAT(of_pixels.logits, ElementsAre(-0.25F, 1, -0.25F));
  ASSERT_EQ(of_pixels.top.size(), 3u);
  EXPECT_EQ(of_pixels.top[0].label, "green");
  EXPECT_EQ(of_pixels.top[1].index, 0);
  EXPECT_NEAR(of_pixels.top[0].probability, 0.63571F, 1e-4F);
  const auto file = test::put("green.png", test::png(7, 5, {0, 255, 0}));
  EXPECT_EQ(classifier_.classify_file(file).logits, of_pixels.logits);
  EXPECT_EQ(classifier_.classify_encoded(test::file_bytes(file)).logits, of_pixels.logits);
}

TEST_F(ClassifierTest, GivesTopKAndNoMoreThanThereAreClasses) {
  const auto rgb = test::solid(4, 4, {0, 0, 255});
  EXPECT_EQ(classifier_.classify({rgb, 4, 4}, 1).top.size(), 1u);
  EXPECT_EQ(classifier_.classify({rgb, 4, 4}, 100).top.size(), 3u);
  EXPECT_EQ(classifier_.classify({rgb, 4, 4}, 0).top.size(), 0u);
  EXPECT_EQ(outcome_of([&] {
              (void)classifier_.classify({rgb, 4, 4}, -1);
            }).kind,
            ErrorKind::bad_input);
}

TEST_F(ClassifierTest, LabelsLiveAsLongAsAnyCopy) {
  const auto rgb = test::solid(4, 4, {255, 0, 0});
  auto first = std::make_unique<Classifier>(classifier_);
  const Classification answer = first->classify({rgb, 4, 4});
  first.reset();
  EXPECT_EQ(answer.top[0].label, "red");
}

TEST_F(ClassifierTest, ATensorIsPlanesOfChannels) {
  std::vector<float> nchw(96, 0.0F);
  std::fill_n(nchw.begin(), 16, 1.0F);            // first image red
  std::fill_n(nchw.begin() + 48 + 32, 16, 0.5F);  // second half blue
  EXPECT_THAT(classifier_.logits_of_tensor(nchw, 2),
              ElementsAre(1.25F, 0, -0.75F, 0.25F, -0.25F, 0.25F));
}

TEST_F(ClassifierTest, RunRgbFillsLogitsAndFeatures) {
  auto rgb = test::solid(4, 4, {255, 0, 0});
  const auto blue = test::solid(4, 4, {0, 0, 255});
  rgb.insert(rgb.end(), blue.begin(), blue.end());
  std::array<float, 6> logits{};
  std::array<float, 6> features{};
  classifier_.run_rgb(rgb, 2, logits, features);
  EXPECT_THAT(logits, ElementsAre(1.25F, 0, -0.75F, 0.25F, -0.5F, 0.75F));
  EXPECT_THAT(features, ElementsAre(1, 0, 0, 0, 0, 1));
}

TEST_F(ClassifierTest, RunRgbAllocatesNothingOnceWarm) {
  const auto rgb = test::solid(4, 4, {1, 2, 3});
  std::array<float, 3> logits{};
  classifier_.run_rgb(rgb, 1, logits);
  test::allocations = {};
  for (int i = 0; i < 10; ++i) classifier_.run_rgb(rgb, 1, logits);
  EXPECT_EQ(test::allocations.count, 0u);
}

TEST_F(ClassifierTest, SizesThatDoNotFitAreRefused) {
  const auto rgb = test::solid(4, 4, {1, 2, 3});
  std::array<float, 3> logits{};
  std::array<float, 2> few{};
  const auto kind = [](const std::function<void()>& body) { return outcome_of(body).kind; };
  EXPECT_EQ(kind([&] { classifier_.run_rgb(rgb, 0, logits); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([&] { classifier_.run_rgb(rgb, 3, logits); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([&] { classifier_.run_rgb(rgb, 2, logits); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([&] { classifier_.run_rgb(rgb, 1, few); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([&] { classifier_.run_rgb(rgb, 1, logits, few); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([&] { (void)classifier_.logits_of_tensor({}, 1); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([&] { (void)classifier_.classify({rgb, 4, 5}); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([&] { (void)classifier_.classify({rgb, -4, -4}); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([&] { (void)classifier_.classify({{}, 0, 0}); }), ErrorKind::bad_input);
}

TEST_F(ClassifierTest, FilesThatAreMissingOrNoImageAreNamed) {
  const auto missing =
      outcome_of([&] { (void)classifier_.classify_file(test::temporary("absent.png")); });
  EXPECT_EQ(missing.kind, ErrorKind::not_found);
  EXPECT_THAT(missing.message, HasSubstr("absent.png"));
  const auto text = test::put("text.png", test::to_bytes("no image at all"));
  EXPECT_THAT(outcome_of([&] { (void)classifier_.classify_file(text); }).message,
              HasSubstr("text.png"));
  EXPECT_TRUE(outcome_of([&] { (void)classifier_.classify_encoded({}); }).kind);
}

TEST_F(ClassifierTest, ManyThreadsGetTheirOwnAnswers) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      std::array<std::uint8_t, 3> colour{};
      colour[static_cast<std::size_t>(t % 3)] = 255;
      const auto rgb = test::solid(5, 5, colour);
      for (int i = 0; i < 50; ++i)
        if (classifier_.classify({rgb, 5, 5}, 1).top[0].index != t % 3) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(counters_.shared);
}

TEST(Load, OptionsOutOfRangeAreRefusedBeforeTheFileIsRead) {
  for (const LoadOptions& options :
       {LoadOptions{.threads = -1}, LoadOptions{.threads = 1 << 20}, LoadOptions{.max_batch = -1},
        LoadOptions{.max_batch = 1 << 20}})
    EXPECT_EQ(outcome_of([&] { (void)load("absent.assay", options); }).kind, ErrorKind::bad_input);
  EXPECT_EQ(outcome_of([] { (void)load("absent.assay"); }).kind, ErrorKind::not_found);
}

TEST(Load, ABundleFromItsFileAnswersOnTheReferenceBackend) {
  const auto path = test::temporary("tiny.assay");
  bundle::write(test::tiny_bundle(), path);
  const Classifier classifier = load(path, {.backend = "reference", .max_batch = 3});
  EXPECT_EQ(classifier.info().max_batch, 3);
  const auto rgb = test::solid(9, 9, {124, 255, 104});
  EXPECT_EQ(classifier.classify({rgb, 9, 9}).top[0].label, "green");
}

TEST(Load, ABackendThatIsNotThereIsRefused) {
  const auto path = test::temporary("tiny.assay");
  bundle::write(test::tiny_bundle(), path);
  EXPECT_EQ(outcome_of([&] { (void)load(path, {.backend = "magic"}); }).kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace assay
