#include <gmock/gmock.h>

#include "pipeline/datasets.h"
#include "pipeline/gzip.h"

namespace assay {
namespace {

using test::Bytes;
using test::put;
using testing::ElementsAre;
using testing::HasSubstr;

Bytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& sizes,
          const std::vector<std::uint8_t>& content) {
  Bytes file;
  test::append_big_endian(file, magic);
  for (const std::uint32_t size : sizes) test::append_big_endian(file, size);
  for (const std::uint8_t byte : content) file.push_back(std::byte{byte});
  return file;
}

/// Two images of 2 rows × 3 columns.
Bytes images() { return idx(0x803, {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}); }
Bytes labels() { return idx(0x801, {2}, {2, 0}); }

TEST(Idx, GreyImagesBecomeRgb) {
  const auto path = put("x-images-idx3-ubyte", images());
  put("x-labels-idx1-ubyte", labels());
  const auto samples = test::samples_of(path);
  EXPECT_THAT(test::names_of(samples),
              ElementsAre("x-images-idx3-ubyte[0]", "x-images-idx3-ubyte[1]"));
  EXPECT_THAT(test::labels_of(samples), ElementsAre(2, 0));
  const image::Image image = pipeline::load(samples[1], {});
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  EXPECT_THAT(image.pixels,
              ElementsAre(7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 11, 12, 12, 12));
}

TEST(Idx, ReadsGzipAndFindsThePairInAFolder) {
  put("t10k-images.idx3-ubyte.gz", test::gzipped(images()));
  put("t10k-labels.idx1-ubyte", labels());
  EXPECT_THAT(test::labels_of(test::samples_of(test::temporary(""))), ElementsAre(2, 0));
}

TEST(Idx, ReadsGzipOfSeveralMembers) {
  const Bytes whole = images();
  Bytes packed = test::gzipped(Bytes(whole.begin(), whole.begin() + 9));
  const Bytes rest = test::gzipped(Bytes(whole.begin() + 9, whole.end()));
  packed.insert(packed.end(), rest.begin(), rest.end());
  const auto path = put("images-idx3-ubyte.gz", packed);
  put("labels-idx1-ubyte.gz", test::gzipped(labels()));
  EXPECT_EQ(test::samples_of(path).size(), 2u);
}

TEST(Idx, TheTestSetOfFashionMnistIsRead) {
  const auto folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "examples/fashion-mnist";
  const std::vector<std::string> classes(10, "made up");
  const auto dataset = pipeline::open_dataset(folder.string(), classes, {{.stride = 2500}, true});
  EXPECT_EQ(dataset->full_size(), 10'000u);
  EXPECT_EQ(dataset->size(), 4u);
  const auto samples = test::all_samples(*dataset);
  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[0].label, 9);  // an ankle boot
  EXPECT_EQ(samples[3].index, 7500u);
  EXPECT_EQ(pipeline::load(samples[0], {}).pixels.size(), 28u * 28 * 3);
}

TEST(Idx, BrokenImageFilesAreNamed) {
  put("b-labels-idx1-ubyte", labels());
  const std::vector<std::pair<Bytes, ErrorKind>> files = {
      {idx(0x801, {2, 2, 3}, std::vector<std::uint8_t>(12)), ErrorKind::bad_input},
      {idx(0xd03, {2, 2, 3}, std::vector<std::uint8_t>(12)), ErrorKind::bad_input},
      {idx(0x803, {2, 2, 3}, std::vector<std::uint8_t>(11)), ErrorKind::corrupt},
      {idx(0x803, {2, 2, 3}, std::vector<std::uint8_t>(13)), ErrorKind::corrupt},
      {idx(0x803, {0xffffffff, 0xffffffff, 0xffffffff}, {}), ErrorKind::corrupt},
      {idx(0x803, {2, 0, 3}, {}), ErrorKind::bad_input},
      {idx(0x803, {2, 2}, {}), ErrorKind::corrupt},
      {{}, ErrorKind::corrupt},
  };
  for (const auto& [bytes, kind] : files) {
    const auto outcome = test::dataset_outcome(put("b-images-idx3-ubyte", bytes));
    EXPECT_EQ(outcome.kind, kind) << outcome.message;
    EXPECT_THAT(outcome.message, HasSubstr("b-images-idx3-ubyte"));
  }
}

TEST(Idx, LabelsMustFit) {
  const auto path = put("x-images-idx3-ubyte", images());
  EXPECT_EQ(test::dataset_outcome(path).kind, ErrorKind::not_found);
  EXPECT_EQ(test::samples_of(path, test::kUnlabelled).size(), 2u);
  put("x-labels-idx1-ubyte", idx(0x801, {3}, {0, 1, 2}));
  EXPECT_THAT(test::dataset_outcome(path).message, HasSubstr("3 labels for 2 images"));
  put("x-labels-idx1-ubyte", idx(0x801, {2}, {0, 3}));
  EXPECT_THAT(test::dataset_outcome(path).message, HasSubstr("entry 1: label 3"));
  put("x-labels-idx1-ubyte", images());
  EXPECT_THAT(test::dataset_outcome(path).message, HasSubstr("magic number 0x00000803"));
}

TEST(Idx, TwoImageFilesInAFolderAreAmbiguous) {
  put("a-images-idx3-ubyte", images());
  put("b-images-idx3-ubyte", images());
  EXPECT_THAT(test::dataset_outcome(test::temporary("")).message, HasSubstr("name the one"));
}

TEST(Gzip, EveryTruncationAndFlippedByteOfTheStreamIsFound) {
  const Bytes packed = test::gzipped(images());
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const Bytes cut(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
    const auto outcome = test::outcome_of([&] { (void)pipeline::gunzip(cut, 1000, "x.gz"); });
    EXPECT_EQ(outcome.kind, ErrorKind::corrupt) << size;
  }
  for (std::size_t i = 10; i < packed.size(); ++i) {  // the first ten hold a time and such
    Bytes damaged = packed;
    damaged[i] ^= std::byte{0x10};
    EXPECT_TRUE(test::outcome_of([&] { (void)pipeline::gunzip(damaged, 1000, "x.gz"); }).kind) << i;
  }
}

TEST(Gzip, TrailingBytesAndTooMuchAreRefused) {
  Bytes packed = test::gzipped(Bytes(100'000));
  EXPECT_EQ(pipeline::gunzip(packed, 100'000, "x.gz").size(), 100'000u);
  EXPECT_EQ(test::outcome_of([&] { (void)pipeline::gunzip(packed, 99'999, "x.gz"); }).kind,
            ErrorKind::bad_input);
  packed.push_back(std::byte{0});
  EXPECT_EQ(test::outcome_of([&] { (void)pipeline::gunzip(packed, 100'000, "x.gz"); }).kind,
            ErrorKind::corrupt);
}

}  // namespace
}  // namespace assay
