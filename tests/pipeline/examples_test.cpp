// The four trained checkpoints on real images, from file to logits, against their reference.
#include <gtest/gtest.h>

#include <thread>

#include "bundle/tiny_bundle.h"
#include "pipeline/classifier.h"
#include "pipeline/evaluate.h"

namespace assay {
namespace {

const std::filesystem::path kExamples = std::filesystem::path(ASSAY_SOURCE_DIR) / "examples";

std::filesystem::path folder_of(const std::string& name) {
  return kExamples / (name + ".fashion_mnist");
}

Classifier load_example(const std::string& name, const LoadOptions& options) {
  const auto path = test::temporary(name + ".assay");
  bundle::write(bundle::build(checkpoint::open(folder_of(name)), {}), path);
  return load(path, options);
}

class Examples : public testing::TestWithParam<const char*> {};

// A right implementation was seen at 2e-5 and 1e-6; a wrong epsilon gives a mean of 5.5e-6 or more.
TEST_P(Examples, GiveTheReferenceLogitsOnTheCpu) {
  const Classifier classifier = load_example(GetParam(), {.max_batch = 4});
  const auto dataset = pipeline::open_dataset((kExamples / "fashion-mnist").string(),
                                              classifier.labels(), {{.stride = 1000}, true});
  pipeline::EvalOptions options;
  options.reference = folder_of(GetParam()) / "reference_logits.safetensors";
  const pipeline::EvalReport report = pipeline::evaluate(classifier, *dataset, options);
  EXPECT_EQ(report.images, 10u);
  EXPECT_EQ(report.nonfinite, 0u);
  EXPECT_TRUE(report.failed.empty());
  EXPECT_EQ(report.reference->agreement, 1);
  EXPECT_LE(report.reference->max_abs_diff, 3e-4);
  EXPECT_LE(report.reference->mean_abs_diff, 4e-6);
}

INSTANTIATE_TEST_SUITE_P(All, Examples,
                         testing::Values("mobilevit_xxs", "mobilevit_xs", "mobilevit_s",
                                         "crossvit_9_240"));

TEST(ExamplesThreads, ConcurrentCallsGiveTheSameBitsAsCallsInTurn) {
  const Classifier classifier = load_example("mobilevit_xxs", {.threads = 1});
  const auto dataset = pipeline::open_dataset((kExamples / "fashion-mnist").string(),
                                              classifier.labels(), {{.limit = 4}, true});
  std::vector<image::Image> images;
  while (const auto sample = dataset->next()) images.push_back(pipeline::load(*sample, {}));
  const auto logits_of = [&](const image::Image& image) {
    return classifier.classify({image.pixels, image.width, image.height}).logits;
  };
  std::vector<std::vector<float>> expected;
  for (const image::Image& image : images) expected.push_back(logits_of(image));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::size_t t = 0; t < images.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < images.size(); ++i) {
        const std::size_t image = (i + t) % images.size();
        if (logits_of(images[image]) != expected[image]) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace assay
