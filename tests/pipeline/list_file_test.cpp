#include <gmock/gmock.h>

#include "pipeline/datasets.h"

namespace assay {
namespace {

using test::to_bytes;
using testing::ElementsAre;
using testing::HasSubstr;

std::filesystem::path list(const std::string& name, std::string_view text) {
  return test::put(name, to_bytes(text));
}

TEST(List, CsvWithoutAHeader) {
  test::put("images/a.png", test::green_png());
  const auto samples = test::samples_of(list("list.csv", "images/a.png,1\nb c.png,Blue\n"));
  EXPECT_THAT(test::names_of(samples), ElementsAre("images/a.png", "b c.png"));
  EXPECT_THAT(test::labels_of(samples), ElementsAre(1, 2));
  EXPECT_EQ(pipeline::load(samples[0], {}).width, 6);
}

TEST(List, CsvWithAHeaderMayHaveOtherColumns) {
  const auto samples =
      test::samples_of(list("list.csv", "id,Label,path\n7,blue,a.png\n8,0,b.png\n"));
  EXPECT_THAT(test::names_of(samples), ElementsAre("a.png", "b.png"));
  EXPECT_THAT(test::labels_of(samples), ElementsAre(2, 0));
}

TEST(List, Jsonl) {
  const auto samples = test::samples_of(list("list.jsonl",
                                             "{\"path\": \"a.png\", \"label\": 2, \"w\": 3}\r\n"
                                             "\n"
                                             "{\"label\": \"red\", \"path\": \"b.png\"}"));
  EXPECT_THAT(test::names_of(samples), ElementsAre("a.png", "b.png"));
  EXPECT_THAT(test::labels_of(samples), ElementsAre(2, 0));
}

TEST(List, PathsAreRelativeToTheListOrAbsolute) {
  const auto image = test::put("deep/a.png", test::red_png());
  const auto samples =
      test::samples_of(list("deep/list.csv", "a.png,0\n" + image.string() + ",0\n"));
  for (const auto& sample : samples) EXPECT_EQ(pipeline::load(sample, {}).height, 5);
}

TEST(List, AMissingImageIsFoundWhenItIsLoaded) {
  const auto samples = test::samples_of(list("list.csv", "absent.png,0\n"));
  const auto outcome = test::outcome_of([&] { (void)pipeline::load(samples.at(0), {}); });
  EXPECT_EQ(outcome.kind, ErrorKind::not_found);
  EXPECT_THAT(outcome.message, HasSubstr("absent.png"));
}

TEST(List, BrokenLinesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"csv", "a.png,1\nb.png,3\n"},
      {"csv", "a.png,1\nb.png,-1\n"},
      {"csv", "a.png,1\nb.png,mauve\n"},
      {"csv", "a.png,1\nb.png\n"},
      {"csv", "a.png,1\nb.png,1,2\n"},
      {"csv", "a.png,1\n,1\n"},
      {"csv", "path,label\nb.png,\n"},
      {"jsonl", "{\"path\":\"a\",\"label\":1}\n{\n"},
      {"jsonl", "\n{\"path\":\"a\"}\n"},
      {"jsonl", "\n{\"label\":1}\n"},
      {"jsonl", "\n{\"path\":7,\"label\":1}"},
      {"jsonl", "\n[1]\n"},
      {"jsonl", "\n{\"path\":\"a\",\"label\":1.0}"},
      {"jsonl", "\n{\"path\":\"a\",\"label\":3}"},
      {"jsonl", "\n{\"path\":\"a\",\"label\":1,\"label\":1}"},
  };
  for (const auto& [extension, text] : texts) {
    const auto outcome = test::dataset_outcome(list("list." + extension, text));
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input) << text;
    EXPECT_THAT(outcome.message, HasSubstr("list." + extension + ", line 2")) << text;
  }
}

TEST(List, ANulInAPathIsRefused) {
  using namespace std::string_literals;
  for (const auto& [extension, text] :
       {std::pair("csv"s, "a.png,1\nb.png\0.jpg,1\n"s),
        std::pair("jsonl"s, "\n{\"path\":\"b.png\\u0000.jpg\",\"label\":1}"s)}) {
    const auto outcome = test::dataset_outcome(list("list." + extension, text));
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input) << extension;
    EXPECT_THAT(outcome.message, HasSubstr("line 2: the path holds a NUL")) << extension;
  }
}

TEST(List, LinesOfBlanksArePassedOver) {
  EXPECT_THAT(test::labels_of(test::samples_of(list("list.csv", " \t\r\na.png,1\n  \n"))),
              ElementsAre(1));
  EXPECT_THAT(test::labels_of(test::samples_of(
                  list("list.jsonl", " \t\r\n{\"path\":\"a.png\",\"label\":1}\n  \n"))),
              ElementsAre(1));
}

TEST(List, ALabelBeyondEveryIntegerIsShownAsItStands) {
  const auto outcome = test::dataset_outcome(
      list("list.jsonl", "{\"path\":\"a.png\",\"label\":18446744073709551615}"));
  EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
  EXPECT_THAT(outcome.message, HasSubstr("label 18446744073709551615,"));
}

TEST(List, NoLabelsAtAllIsRefusedUnlessAllowed) {
  for (const char* text : {"a.png\n", "path\na.png\n"}) {
    const auto path = list("list.csv", text);
    EXPECT_EQ(test::dataset_outcome(path).kind, ErrorKind::bad_input) << text;
    const auto samples = test::samples_of(path, test::kUnlabelled);
    ASSERT_EQ(samples.size(), 1u);
    EXPECT_EQ(samples[0].label, std::nullopt);
  }
  const auto path = list("list.jsonl", "{\"path\":\"a\"}");
  EXPECT_EQ(test::samples_of(path, test::kUnlabelled).size(), 1u);
}

TEST(List, AnEmptyListIsRefused) {
  EXPECT_EQ(test::dataset_outcome(list("list.csv", "path,label\n")).kind, ErrorKind::bad_input);
  EXPECT_EQ(test::dataset_outcome(list("list.jsonl", "\n")).kind, ErrorKind::bad_input);
}

TEST(List, MoreColumnsNeedAHeader) {
  EXPECT_THAT(test::dataset_outcome(list("list.csv", "a.png,1,x\n")).message,
              HasSubstr("first row"));
}

}  // namespace
}  // namespace assay
