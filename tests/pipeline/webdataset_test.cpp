#include "pipeline/webdataset.h"

#include <gmock/gmock.h>

#include "pipeline/datasets.h"

namespace assay {
namespace {

using test::Bytes;
using test::put;
using test::tar;
using test::to_bytes;
using testing::ElementsAre;
using testing::HasSubstr;

Bytes two_samples() {
  return tar({{"dir/", {}, '5'},
              {"dir/._a.png", to_bytes("hidden")},
              {"dir/a.cls", to_bytes("2\n")},
              {"dir/a.seg.png", to_bytes("not the image")},
              {"dir/a.PNG", test::blue_png()},
              {"dir/b.png", test::red_png()},
              {"dir/b.json", to_bytes("{\"label\": \"red\", \"width\": 6}")}});
}

TEST(WebDataset, GroupsTheEntriesOfOneKey) {
  const auto samples = test::samples_of(put("x.tar", two_samples()));
  EXPECT_THAT(test::names_of(samples), ElementsAre("x.tar:dir/a.png", "x.tar:dir/b.png"));
  EXPECT_THAT(test::labels_of(samples), ElementsAre(2, 0));
  EXPECT_EQ(pipeline::load(samples[0], {}).pixels[2], 255);
}

TEST(WebDataset, ReadsGzippedShards) {
  for (const char* name : {"x.tar.gz", "y.tgz"})
    EXPECT_EQ(test::samples_of(put(name, test::gzipped(two_samples()))).size(), 2u);
}

TEST(WebDataset, ClsWinsOverJson) {
  const auto path = put("x.tar", tar({{"a.json", to_bytes("{\"label\": 0}")},
                                      {"a.cls", to_bytes("1")},
                                      {"a.png", test::red_png()}}));
  EXPECT_THAT(test::labels_of(test::samples_of(path)), ElementsAre(1));
}

TEST(WebDataset, AFolderAndAPatternAreReadInOrder) {
  for (const char* digit : {"2", "0", "1"})
    put("s-00" + std::string(digit) + ".tar",
        tar({{"k.png", test::red_png()}, {"k.cls", to_bytes(digit)}}));
  EXPECT_THAT(test::labels_of(test::samples_of(test::temporary(""))), ElementsAre(0, 1, 2));
  EXPECT_THAT(test::labels_of(test::samples_of(test::temporary("s-{001..002}.tar"))),
              ElementsAre(1, 2));
  const auto missing = test::dataset_outcome(test::temporary("s-{001..003}.tar"));
  EXPECT_EQ(missing.kind, ErrorKind::not_found);
  EXPECT_THAT(missing.message, HasSubstr("s-003.tar"));
}

TEST(WebDataset, SelectionSkipsAcrossShards) {
  for (const char* digit : {"0", "1", "2"})
    put("s-" + std::string(digit) + ".tar", tar({{"a.png", test::red_png()},
                                                 {"a.cls", to_bytes(digit)},
                                                 {"b.png", test::red_png()},
                                                 {"b.cls", to_bytes(digit)}}));
  const auto samples = test::samples_of(test::temporary(""), {{.stride = 2, .offset = 1}, true});
  EXPECT_THAT(test::names_of(samples),
              ElementsAre("s-0.tar:b.png", "s-1.tar:b.png", "s-2.tar:b.png"));
  EXPECT_EQ(samples[2].index, 5u);
}

TEST(WebDataset, BracesExpand) {
  const auto names = [](const std::string& pattern) {
    std::vector<std::string> texts;
    for (const auto& path : pipeline::expand_shards(pattern)) texts.push_back(path.string());
    return texts;
  };
  EXPECT_THAT(names("a-{08..11}.tar"), ElementsAre("a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"));
  EXPECT_THAT(names("a-{9..10}.tar"), ElementsAre("a-9.tar", "a-10.tar"));
  EXPECT_THAT(names("plain.tar"), ElementsAre("plain.tar"));
  for (const char* bad : {"{0..}.tar", "{..3}.tar", "{3..1}.tar", "{a..c}.tar", "{0,1}.tar",
                          "{0..1", "{0..1}{0..1}.tar", "{0..999999999}.tar",
                          "{0..99999999999999999999}.tar", "{0...3}.tar", "{-1..3}.tar"})
    EXPECT_EQ(test::outcome_of([&] { (void)pipeline::expand_shards(bad); }).kind,
              ErrorKind::bad_input)
        << bad;
}

TEST(WebDataset, BrokenSamplesAreNamed) {
  const Bytes image = test::red_png();
  const std::vector<std::pair<std::vector<test::TarEntry>, std::string>> cases = {
      {{{"k.png", image}}, "sample k: no label"},
      {{{"k.png", image}, {"k.json", to_bytes("{}")}}, "sample k: no label"},
      {{{"k.cls", to_bytes("1")}}, "sample k: no image"},
      {{{"k.png", image}, {"k.jpg", image}, {"k.cls", to_bytes("1")}}, "sample k: two images"},
      {{{"k.png", image}, {"k.cls", to_bytes("3")}}, "label 3"},
      {{{"k.png", image}, {"k.cls", to_bytes(" \n")}}, ".cls is empty"},
      {{{"k.png", image}, {"k.cls", to_bytes("mauve")}}, "mauve"},
      {{{"k.png", image}, {"k.json", to_bytes("{")}}, "sample k"},
      {{{"k.png", image}, {"k.json", to_bytes("{\"label\": 1.5}")}}, "sample k"},
  };
  for (const auto& [entries, message] : cases) {
    const auto outcome = test::dataset_outcome(put("x.tar", tar(entries)));
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input) << message;
    EXPECT_THAT(outcome.message, HasSubstr(message));
    EXPECT_THAT(outcome.message, HasSubstr("x.tar"));
  }
}

TEST(WebDataset, ImagesWithoutLabelsAreReadWhereThatIsAllowed) {
  const auto path = put("x.tar", tar({{"k.png", test::red_png()}}));
  const auto samples = test::samples_of(path, test::kUnlabelled);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].label, std::nullopt);
}

TEST(WebDataset, EveryTruncationIsFound) {
  const Bytes whole = two_samples();
  for (std::size_t size = 0; size < whole.size(); size += 256) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto outcome = test::dataset_outcome(put("x.tar", cut));
    EXPECT_EQ(outcome.kind, ErrorKind::corrupt) << size << ": " << outcome.message;
  }
}

TEST(WebDataset, ADamagedHeaderAndAnotherFormatAreFound) {
  Bytes damaged = two_samples();
  damaged[512 + 2] ^= std::byte{1};
  EXPECT_EQ(test::dataset_outcome(put("x.tar", damaged)).kind, ErrorKind::corrupt);
  EXPECT_EQ(test::dataset_outcome(put("y.tar", test::red_png())).kind, ErrorKind::corrupt);
  Bytes packed = test::gzipped(two_samples());
  packed.resize(packed.size() / 2);
  EXPECT_EQ(test::dataset_outcome(put("z.tar.gz", packed)).kind, ErrorKind::corrupt);
}

}  // namespace
}  // namespace assay
