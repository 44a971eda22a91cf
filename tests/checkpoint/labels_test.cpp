/// Where the classes' names come from.
#include <gtest/gtest.h>

#include <set>

#include "checkpoint/checkpoint.h"
#include "checkpoint/support.h"

namespace assay::checkpoint {
namespace {

using Labels = std::vector<std::string>;

Labels labels_of(const std::string& keys) {
  return parse_config(R"({"architecture":"a",)" + keys + "}", "config.json").labels;
}

struct Case {
  std::string keys;
  Labels labels;
};

TEST(Labels, ComeFromTheConfiguration) {
  const std::vector<Case> cases{
      {R"("num_classes":2,"label_names":["cat","dog"])", {"cat", "dog"}},
      {R"("num_classes":2,"label_names":["cat","dog"],"pretrained_cfg":{"label_names":["x","y"]})",
       {"cat", "dog"}},
      {R"("num_classes":2,"pretrained_cfg":{"label_names":["x","y"]})", {"x", "y"}},
      {R"("num_classes":3,"label_names":{"2":"dog","0":"cat"})", {"cat", "class 1", "dog"}},
      {R"("num_classes":2,"label_names":["n02123045","dog"],
          "label_descriptions":{"n02123045":"tabby","dog":"a tame wolf"})",
       {"tabby", "dog"}},
      {R"("num_classes":2,"label_names":["n02123045","n0"],"label_descriptions":["tabby","x"])",
       {"tabby", "n0"}},
      {R"("num_classes":1,"label_names":["n02123045"],"label_descriptions":{"other":"x"})",
       {"n02123045"}},
      {R"("num_classes":2,"label_descriptions":["cat","dog"])", {"cat", "dog"}},
      {R"("num_classes":2,"label_descriptions":{"cat":"small"})", {"class 0", "class 1"}},
      {R"("num_classes":2)", {"class 0", "class 1"}},
      {R"("num_classes":2,"label_names":[])", {"class 0", "class 1"}},
      {R"("model_type":"timm_wrapper","id2label":{"0":"cat","1":"dog"})", {"cat", "dog"}},
      {R"("model_type":"timm_wrapper","label_names":["x","y"],"num_classes":2,
          "id2label":{"0":"cat","1":"dog"})",
       {"x", "y"}},
      {R"("model_type":"timm_wrapper","id2label":{"0":"LABEL_0","1":"LABEL_1"})",
       {"class 0", "class 1"}},
  };
  for (const Case& param : cases) {
    EXPECT_EQ(labels_of(param.keys), param.labels) << param.keys;
  }
}

TEST(Labels, AreImageNetsForAThousandUnnamedClasses) {
  const Labels labels = labels_of(R"("num_classes":1000)");
  ASSERT_EQ(labels.size(), 1000U);
  EXPECT_EQ(labels[0], "tench, Tinca tinca");
  EXPECT_EQ(labels[281], "tabby, tabby cat");
  EXPECT_EQ(labels[999], "toilet tissue, toilet paper, bathroom tissue");
  EXPECT_EQ(labels_of(R"("model_type":"timm_wrapper","num_classes":1000)"), labels);
}

TEST(Labels, OfImageNetAreAThousandNames) {
  const auto names = imagenet1k_labels();
  ASSERT_EQ(names.size(), 1000U);
  // WordNet gives the bird and the machine one lemma: "crane".
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), 999U);
  EXPECT_EQ(names[134], "crane");
  EXPECT_EQ(names[517], "crane");
  EXPECT_EQ(names[207], "golden retriever");
}

TEST(Labels, ThatWouldBreakALineOfColumnsAreRefused) {
  const auto label_is = [](const std::string& json) {
    return R"("num_classes":2,"label_names":["cat",")" + json + "\"]";
  };
  for (const char* bad : {R"(a\tb)", R"(a\nb)", R"(\u0000)", R"(a\u007f)"}) {
    SCOPED_TRACE(bad);
    expect_error(ErrorKind::bad_input, {"config.json: ", "class 1", "control character"},
                 [&] { labels_of(label_is(bad)); });
  }
  expect_error(ErrorKind::bad_input, {"config.json: ", "class 1 is empty"},
               [&] { labels_of(label_is("")); });
  EXPECT_EQ(labels_of(label_is("caf\u00e9 (au lait), 'x'")).size(), 2U);
}

TEST(Labels, AreRefusedWhereTheyAreNotAsManyOrNotNames) {
  struct Refusal {
    std::string keys;
    std::vector<std::string> parts;
  };
  const std::vector<Refusal> refusals{
      {R"("num_classes":3,"label_names":["cat","dog"])", {"label_names", "2 names", "is 3"}},
      {R"("label_names":["cat","dog"])", {"label_names", "2 names", "is 1000"}},
      {R"("num_classes":1,"label_names":[1])", {"label_names"}},
      {R"("num_classes":1,"label_names":"cat")", {"label_names", "a list of names"}},
      {R"("num_classes":2,"label_names":{"2":"cat"})", {"label_names", "'2'"}},
      {R"("num_classes":2,"label_names":{"cat":0})", {"label_names", "'cat'"}},
      {R"("num_classes":2,"label_names":{"-1":"cat"})", {"label_names", "'-1'"}},
      {R"("num_classes":2,"label_names":{"1":"cat","01":"dog"})", {"label_names", "class 1 twice"}},
      {R"("num_classes":2,"pretrained_cfg":{"label_descriptions":["cat"]})",
       {"pretrained_cfg.label_descriptions", "1 names"}},
      {R"("num_classes":1,"label_names":["n02123045"],"label_descriptions":{"n02123045":1})",
       {"label_descriptions"}},
      {R"("num_classes":1,"label_names":["cat"],"label_descriptions":"cats")",
       {"label_descriptions"}},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.keys);
    expect_error(ErrorKind::bad_input, refusal.parts, [&] { labels_of(refusal.keys); });
  }
}

}  // namespace
}  // namespace assay::checkpoint
