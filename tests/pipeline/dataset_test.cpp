// What all kinds of dataset share: which kind a path is, and what is selected of it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <limits>

#include "pipeline/datasets.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Leaves an administrator's rights aside, which no folder's permissions bind.
class Unprivileged {
 public:
  Unprivileged() : user_(geteuid()) {
    if (user_ == 0) {
      EXPECT_EQ(seteuid(65'534), 0);
    }
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;
  ~Unprivileged() { EXPECT_EQ(seteuid(user_), 0); }

 private:
  uid_t user_;
};

TEST(Dataset, AnUnreadableFolderIsNamedItself) {
  const auto image = test::put("data/red/a.png", test::red_png());
  const auto data = image.parent_path().parent_path();
  test::put("data/red/more/deep/b.png", test::red_png());
  for (const auto& locked : {data / "red" / "more" / "deep", data / "red"}) {
    std::filesystem::permissions(locked, std::filesystem::perms::none);
    {
      const Unprivileged user;
      const auto outcome = test::dataset_outcome(data);
      EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
      EXPECT_THAT(outcome.message, testing::StartsWith(locked.string() + ": Permission denied"));
    }
    std::filesystem::permissions(locked, std::filesystem::perms::owner_all);
  }
}

std::vector<std::uint64_t> selected(const pipeline::Selection& selection) {
  const auto list = test::put("list.csv", test::to_bytes("a,0\nb,0\nc,0\nd,0\ne,0\nf,0\ng,0\n"));
  const auto dataset =
      pipeline::open_dataset(list.string(), test::colours(), {.selection = selection});
  EXPECT_EQ(dataset->full_size(), 7u);
  const auto size = dataset->size();
  std::vector<std::uint64_t> indices;
  for (const auto& sample : test::all_samples(*dataset)) {
    indices.push_back(sample.index);
    EXPECT_EQ(sample.name, std::string(1, static_cast<char>('a' + sample.index)));
  }
  EXPECT_EQ(size, indices.size());
  EXPECT_FALSE(dataset->next());
  return indices;
}

TEST(Selection, StrideOffsetAndLimit) {
  constexpr auto kHuge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(selected({}), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(selected({.stride = 3}), ElementsAre(0, 3, 6));
  EXPECT_THAT(selected({.stride = 3, .offset = 1}), ElementsAre(1, 4));
  EXPECT_THAT(selected({.offset = 5}), ElementsAre(5, 6));
  EXPECT_THAT(selected({.limit = 2}), ElementsAre(0, 1));
  EXPECT_THAT(selected({.stride = 2, .offset = 2, .limit = 2}), ElementsAre(2, 4));
  EXPECT_THAT(selected({.offset = 7}), ElementsAre());
  EXPECT_THAT(selected({.stride = kHuge, .offset = 2}), ElementsAre(2));
  EXPECT_THAT(selected({.offset = kHuge, .limit = kHuge}), ElementsAre());
}

TEST(Selection, StrideZeroIsRefused) {
  const auto list = test::put("list.csv", test::to_bytes("a,0\n"));
  EXPECT_EQ(test::dataset_outcome(list, {.selection = {.stride = 0}}).kind, ErrorKind::bad_input);
}

TEST(OpenDataset, WhatIsNotThereOrNoDatasetIsRefused) {
  EXPECT_EQ(test::dataset_outcome(test::temporary("absent")).kind, ErrorKind::not_found);
  EXPECT_EQ(test::dataset_outcome(test::temporary("absent.tar")).kind, ErrorKind::not_found);
  const auto other = test::dataset_outcome(test::put("x.zip", {}));
  EXPECT_EQ(other.kind, ErrorKind::unsupported);
  EXPECT_THAT(other.message, HasSubstr("x.zip"));
}

TEST(OpenDataset, AFolderOfTwoKindsIsAmbiguous) {
  test::put("a-images-idx3-ubyte", {});
  test::put("a.tar", {});
  EXPECT_THAT(test::dataset_outcome(test::temporary("")).message, HasSubstr("both"));
}

}  // namespace
}  // namespace assay
