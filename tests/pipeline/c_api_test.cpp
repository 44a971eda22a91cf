// The C ABI, against a bundle on the reference backend.
#include <gmock/gmock.h>

#include <limits>
#include <thread>

#include "assay/assay.h"
#include "assay/assay_c.h"
#include "pipeline/files.h"

namespace assay {
namespace {

using testing::HasSubstr;

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    bundle::Bundle bundle = test::tiny_bundle();
    bundle.transform.mean = {0, 0, 0};
    bundle.transform.std = {1, 1, 1};
    path_ = test::temporary("tiny.assay").string();
    bundle::write(bundle, path_);
    ASSERT_EQ(assay_open(path_.c_str(), "reference", 1, &model_), ASSAY_OK) << assay_last_error();
  }
  void TearDown() override { assay_close(model_); }

  std::string path_;
  assay_model* model_ = nullptr;
  std::array<assay_prediction, 5> predictions_{};
  size_t count_ = 99;
};

TEST_F(CApi, TellsTheModelsSizes) {
  EXPECT_EQ(assay_input_height(model_), 4);
  EXPECT_EQ(assay_input_width(model_), 4);
  EXPECT_EQ(assay_classes(model_), 3);
  EXPECT_EQ(assay_classes(nullptr), 0);
  EXPECT_EQ(assay_input_height(nullptr), 0);
  EXPECT_EQ(assay_input_width(nullptr), 0);
  EXPECT_STREQ(assay_version(), std::string(version()).c_str());
}

TEST_F(CApi, ClassifiesAFileAndItsBytes) {
  const auto bytes = test::blue_png();
  const auto file = test::put("blue.png", bytes);
  ASSERT_EQ(assay_classify_file(model_, file.c_str(), predictions_.data(), 5, &count_), ASSAY_OK)
      << assay_last_error();
  ASSERT_EQ(count_, 3u);
  EXPECT_STREQ(predictions_[0].label, "blue");
  EXPECT_EQ(predictions_[0].index, 2);
  EXPECT_GT(predictions_[0].probability, predictions_[1].probability);
  ASSERT_EQ(
      assay_classify_memory(model_, bytes.data(), bytes.size(), predictions_.data(), 2, &count_),
      ASSAY_OK);
  EXPECT_EQ(count_, 2u);
  EXPECT_STREQ(predictions_[0].label, "blue");
}

TEST_F(CApi, RowsMayHaveGaps) {
  std::vector<std::uint8_t> rgb(5 * 20, 255);  // white gaps must not be seen
  for (std::size_t y = 0; y < 5; ++y)
    for (std::size_t x = 0; x < 6; ++x) {
      rgb[y * 20 + x * 3 + 1] = 0;
      rgb[y * 20 + x * 3 + 2] = 0;
    }
  ASSERT_EQ(assay_classify_pixels(model_, rgb.data(), 6, 5, 20, predictions_.data(), 5, &count_),
            ASSAY_OK);
  const float with_gaps = predictions_[0].probability;
  EXPECT_STREQ(predictions_[0].label, "red");
  std::vector<std::uint8_t> packed;
  for (int i = 0; i < 30; ++i) packed.insert(packed.end(), {255, 0, 0});
  ASSERT_EQ(assay_classify_pixels(model_, packed.data(), 6, 5, 18, predictions_.data(), 5, &count_),
            ASSAY_OK);
  EXPECT_EQ(predictions_[0].probability, with_gaps);
}

TEST_F(CApi, RunsATensor) {
  std::vector<float> nchw(96, 0.0F);
  std::fill_n(nchw.begin() + 48, 16, 1.0F);
  std::array<float, 7> logits{0, 0, 0, 0, 0, 0, 77};
  ASSERT_EQ(assay_run_tensor(model_, nchw.data(), 2, logits.data(), 6), ASSAY_OK)
      << assay_last_error();
  EXPECT_THAT(logits, testing::ElementsAre(0.25F, 0, -0.25F, 1.25F, 0, -0.75F, 77));
}

TEST_F(CApi, NothingToFillIsNoError) {
  const auto bytes = test::red_png();
  EXPECT_EQ(assay_classify_memory(model_, bytes.data(), bytes.size(), nullptr, 0, &count_),
            ASSAY_OK);
  EXPECT_EQ(count_, 0u);
}

TEST_F(CApi, NullPointersAndBadSizesAreBadInput) {
  const std::vector<std::uint8_t> rgb(12);
  std::array<float, 3> logits{};
  const std::vector<float> nchw(48);
  auto* out = predictions_.data();
  const auto max = std::numeric_limits<size_t>::max();
  EXPECT_EQ(assay_classify_file(nullptr, "x", out, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_EQ(count_, 0u);
  EXPECT_EQ(assay_classify_file(model_, nullptr, out, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_classify_file(model_, "x", nullptr, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_classify_file(model_, "x", out, 5, nullptr), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_classify_memory(model_, nullptr, 5, out, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_NE(assay_classify_memory(model_, nullptr, 0, out, 5, &count_), ASSAY_OK);
  EXPECT_EQ(assay_classify_pixels(model_, nullptr, 2, 2, 6, out, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_classify_pixels(model_, rgb.data(), 0, 2, 6, out, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_classify_pixels(model_, rgb.data(), 2, -2, 6, out, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_classify_pixels(model_, rgb.data(), 2, 2, 5, out, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_classify_pixels(model_, rgb.data(), 2, 2, max, out, 5, &count_), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_run_tensor(nullptr, nchw.data(), 1, logits.data(), 3), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_run_tensor(model_, nullptr, 1, logits.data(), 3), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_run_tensor(model_, nchw.data(), 1, nullptr, 3), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_run_tensor(model_, nchw.data(), 1, logits.data(), 2), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_run_tensor(model_, nchw.data(), 0, logits.data(), 3), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_run_tensor(model_, nchw.data(), 3, logits.data(), 9), ASSAY_BAD_INPUT);
}

TEST_F(CApi, OpenSaysWhatIsWrong) {
  assay_model* other = model_;
  EXPECT_EQ(assay_open(nullptr, nullptr, 0, &other), ASSAY_BAD_INPUT);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(assay_open(path_.c_str(), nullptr, 0, nullptr), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_open("absent.assay", nullptr, 0, &other), ASSAY_NOT_FOUND);
  EXPECT_THAT(assay_last_error(), HasSubstr("absent.assay"));
  EXPECT_EQ(assay_open(path_.c_str(), "magic", 0, &other), ASSAY_BAD_INPUT);
  EXPECT_EQ(assay_open(path_.c_str(), "reference", -1, &other), ASSAY_BAD_INPUT);
  auto bytes = test::file_bytes(path_);
  bytes.back() = std::byte{1};
  const auto damaged = test::put("damaged.assay", bytes);
  EXPECT_EQ(assay_open(damaged.c_str(), "reference", 0, &other), ASSAY_CORRUPT);
  EXPECT_EQ(other, nullptr);
  assay_close(nullptr);
}

TEST_F(CApi, EveryThreadHasItsOwnMessage) {
  assay_model* other = nullptr;
  EXPECT_NE(assay_open("absent-here.assay", nullptr, 0, &other), ASSAY_OK);
  std::thread([&] {
    EXPECT_STREQ(assay_last_error(), "");
    assay_model* mine = nullptr;
    EXPECT_NE(assay_open("absent-there.assay", nullptr, 0, &mine), ASSAY_OK);
    EXPECT_THAT(assay_last_error(), HasSubstr("absent-there"));
  }).join();
  EXPECT_THAT(assay_last_error(), HasSubstr("absent-here"));
}

}  // namespace
}  // namespace assay
