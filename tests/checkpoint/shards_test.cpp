/// Checkpoints in several files, and indices that do not fit them.
#include "checkpoint/shards.h"

#include <gtest/gtest.h>

#include "checkpoint/support.h"

namespace assay::checkpoint {
namespace {

constexpr std::string_view kFirst = "model-00001-of-00002.safetensors";
constexpr std::string_view kSecond = "model-00002-of-00002.safetensors";

std::string shard(std::string_view tensor, std::string_view metadata = "") {
  return safetensors_bytes("{" + std::string(metadata) + entry(tensor, "U8", "1", "0,1") + "}",
                           tensor);
}

std::string index_text(const std::vector<std::pair<std::string, std::string>>& map) {
  std::string text = R"({"metadata":{"total_size":2,"nested":{"any":[1]}},"weight_map":{)";
  for (std::size_t i = 0; i < map.size(); ++i) {
    text += (i == 0 ? "\"" : ",\"") + map[i].first + "\":\"" + map[i].second + "\"";
  }
  return text + "}}";
}

Weights read(const std::filesystem::path& folder,
             const std::vector<std::pair<std::string, std::string>>& map) {
  return read_shards(parse_index(index_text(map), "index.json"), folder, "index.json");
}

/// Shards with "a" in the first and "b" in the second.
std::filesystem::path two_shards() {
  const auto folder = fresh_folder("two");
  write_file(folder / kFirst, shard("a", R"("__metadata__":{"format":"pt","part":"1"},)"));
  write_file(folder / kSecond, shard("b", R"("__metadata__":{"part":"2","more":"x"},)"));
  return folder;
}

const std::string kA{kFirst};
const std::string kB{kSecond};

TEST(Shards, GiveAllTensorsAndMergedMetadata) {
  const Weights weights = read(two_shards(), {{"b", kB}, {"a", kA}});
  ASSERT_EQ(weights.all().size(), 2U);
  EXPECT_EQ(weights.find("b")->bytes.front(), std::byte{'b'});
  EXPECT_EQ(weights.metadata,
            (std::map<std::string, std::string>{{"format", "pt"}, {"more", "x"}, {"part", "1"}}));
}

TEST(Shards, MayLieInASubfolderOrBehindALink) {
  const auto folder = fresh_folder("snapshot");
  write_file(folder / "parts" / kFirst, shard("a"));
  const auto blob = fresh_folder("blobs") / "0123abcd";
  write_file(blob, shard("b"));
  std::filesystem::create_symlink(blob, folder / kSecond);
  EXPECT_EQ(read(folder, {{"a", "parts/" + kA}, {"b", kB}}).all().size(), 2U);
}

TEST(Shards, ThatAreMissingAreAllNamed) {
  expect_error(ErrorKind::not_found, {"index.json", "2 shards 'c.safetensors', 'd.safetensors'"},
               [] {
                 read(two_shards(), {{"a", kA}, {"c", "c.safetensors"}, {"d", "d.safetensors"}});
               });
}

TEST(Shards, ThatDisagreeWithTheIndexAreRefusedWithTheTensorsName) {
  const auto folder = two_shards();
  const auto refused = [&](const std::vector<std::pair<std::string, std::string>>& map,
                           const std::vector<std::string>& parts) {
    expect_error(ErrorKind::corrupt, parts, [&] { read(folder, map); });
  };
  refused({{"a", kA}, {"b", kB}, {"c", kB}},
          {"index.json", "'c (" + kB + ")'", "not in the shard"});
  refused({{"a", kB}, {"b", kB}, {"c", kA}}, {"tensor 'a' is in", kA, "the index says", kB});
  refused({{"a", kA}, {"c", kB}}, {"tensor 'b' is in", kB, "not in the index"});
  write_file(folder / kSecond, shard("a"));
  refused({{"a", kA}, {"b", kB}}, {"tensor 'a' is in two shards", kA, kB});
}

TEST(Shards, ThatAreDamagedAreNamed) {
  const auto folder = two_shards();
  write_file(folder / kSecond, "PK\x03\x04 not safetensors");
  expect_error(ErrorKind::bad_input, {kB, "PyTorch pickle"}, [&] {
    read(folder, {{"a", kA}, {"b", kB}});
  });
}

TEST(ShardIndex, RefusesNamesThatLeaveTheFolder) {
  for (const char* name : {"/tmp/x.safetensors", "../x.safetensors", "parts/../../x.safetensors",
                           "./x.safetensors", "..", "", R"(..\\x.safetensors)", "parts/.."}) {
    SCOPED_TRACE(name);
    expect_error(ErrorKind::bad_input, {"index.json", "'a'", "leaves the folder"}, [&] {
      parse_index(index_text({{"a", name}}), "index.json");
    });
  }
  expect_error(ErrorKind::bad_input, {"'a'", "'pytorch_model.bin'", "no .safetensors"}, [] {
    parse_index(index_text({{"a", "pytorch_model.bin"}}), "index.json");
  });
  expect_error(ErrorKind::bad_input, {"'a'", "x00"}, [] {
    parse_index(index_text({{"a", R"(x\u0000.safetensors)"}}), "index.json");
  });
}

TEST(ShardIndex, RefusesEveryOtherForm) {
  struct Case {
    std::string text;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases{
      {"", {"JSON"}},
      {"[]", {"an object"}},
      {"{}", {"weight_map"}},
      {R"({"weight_map":null})", {"weight_map"}},
      {R"({"weight_map":{}})", {"weight_map"}},
      {R"({"weight_map":[]})", {"weight_map"}},
      {R"({"weight_map":{"a":1}})", {"'a'", "number"}},
      {R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})", {"\"a\"", "twice"}},
      {R"({"weight_map":)" + std::string(100'000, '['), {"deep"}},
      {"{\"weight_map\":{\"\xff\":\"x.safetensors\"}}", {"JSON"}},
  };
  for (const Case& param : cases) {
    SCOPED_TRACE(param.text.substr(0, 100));
    std::vector<std::string> parts = param.parts;
    parts.emplace_back("index.json: ");
    expect_error(ErrorKind::bad_input, parts, [&] { parse_index(param.text, "index.json"); });
  }
}

}  // namespace
}  // namespace assay::checkpoint
