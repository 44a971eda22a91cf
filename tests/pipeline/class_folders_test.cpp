#include <gmock/gmock.h>

#include "pipeline/datasets.h"

namespace assay {
namespace {

using test::put;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ClassFolders, FoldersWithTheNamesOfLabelsAreThose) {
  put("Blue/b.png", test::blue_png());
  put("red/z.PNG", test::red_png());
  put("red/a.jpeg", test::red_png());
  put("red/notes.txt", {});
  put("README", {});
  const auto samples = test::samples_of(test::temporary(""));
  EXPECT_THAT(test::names_of(samples), ElementsAre("Blue/b.png", "red/a.jpeg", "red/z.PNG"));
  EXPECT_THAT(test::labels_of(samples), ElementsAre(2, 0, 0));
  EXPECT_EQ(pipeline::load(samples[0], {}).pixels[2], 255);
}

TEST(ClassFolders, OtherNamesInTheirOrderWhereTheCountsMatch) {
  put("n03/x.png", {});
  put("n01/x.png", {});
  put("n02/x.png", {});
  EXPECT_THAT(test::labels_of(test::samples_of(test::temporary(""))), ElementsAre(0, 1, 2));
}

TEST(ClassFolders, DeepImagesComeInImageFoldersOrder) {
  // By the folder's path as text ('-' is before '/'), and then by file name.
  put("red/b/1.png", {});
  put("red/b-c/2.png", {});
  put("red/9.png", {});
  put("red/b/d/3.png", {});
  EXPECT_THAT(test::names_of(test::samples_of(test::temporary(""))),
              ElementsAre("red/9.png", "red/b/1.png", "red/b-c/2.png", "red/b/d/3.png"));
}

TEST(ClassFolders, FoldersThatAreNoLabelsAreRefused) {
  put("red/x.png", {});
  put("mauve/x.png", {});
  const auto some = test::dataset_outcome(test::temporary(""));
  EXPECT_EQ(some.kind, ErrorKind::bad_input);
  EXPECT_THAT(some.message, HasSubstr("mauve"));
}

TEST(ClassFolders, AnotherCountIsRefused) {
  put("n01/x.png", {});
  put("n02/x.png", {});
  EXPECT_THAT(test::dataset_outcome(test::temporary("")).message,
              HasSubstr("2 class folders, but the classifier has 3 labels"));
}

TEST(ClassFolders, NumbersWithoutLeadingZerosAreRefused) {
  put("2/x.png", {});
  put("10/x.png", {});
  put("3/x.png", {});
  EXPECT_THAT(test::dataset_outcome(test::temporary("")).message, HasSubstr("pad the numbers"));
}

TEST(ClassFolders, TwoFoldersOfOneLabelAreRefused) {
  put("red/x.png", {});
  put("RED/x.png", {});
  EXPECT_THAT(test::dataset_outcome(test::temporary("")).message, HasSubstr("same label"));
}

TEST(ClassFolders, AFolderWithoutImagesIsRefused) {
  put("red/x.png", {});
  put("blue/x.gif", {});
  EXPECT_THAT(test::dataset_outcome(test::temporary("")).message, HasSubstr("blue: no image"));
}

TEST(ClassFolders, AnEmptyFolderIsNoDataset) {
  EXPECT_THAT(test::dataset_outcome(test::temporary("")).message, HasSubstr("not a dataset"));
}

}  // namespace
}  // namespace assay
