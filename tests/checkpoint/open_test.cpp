/// Checkpoints as folders: what is read of them, and what is said of a folder that is none.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/support.h"

namespace assay::checkpoint {
namespace {

constexpr std::string_view kConfig = R"({"architecture":"mobilevit_s","num_classes":2})";

std::string weights_file(std::string_view tensor = "stem.conv.weight") {
  return safetensors_bytes("{" + entry(tensor, "U8", "1", "0,1") + "}", "x");
}

std::string sha256(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

std::filesystem::path checkpoint_folder(std::string_view name = "model") {
  const auto folder = fresh_folder(name);
  write_file(folder / "config.json", kConfig);
  write_file(folder / "model.safetensors", weights_file());
  return folder;
}

TEST(Open, ReadsConfigurationWeightsAndProvenance) {
  const auto folder = checkpoint_folder();
  const Checkpoint checkpoint = open(folder);
  EXPECT_EQ(checkpoint.folder, folder);
  EXPECT_EQ(checkpoint.config.architecture, "mobilevit_s");
  EXPECT_EQ(checkpoint.config.text, kConfig);
  EXPECT_NE(checkpoint.weights.find("stem.conv.weight"), nullptr);
  EXPECT_EQ(checkpoint.revision, std::nullopt);
  ASSERT_EQ(checkpoint.files.size(), 2U);
  EXPECT_EQ(checkpoint.files[0].name, "config.json");
  EXPECT_EQ(checkpoint.files[0].size, kConfig.size());
  EXPECT_EQ(checkpoint.files[0].sha256, sha256(kConfig));
  EXPECT_EQ(checkpoint.files[1].name, "model.safetensors");
  EXPECT_EQ(checkpoint.files[1].size, weights_file().size());
  EXPECT_EQ(checkpoint.files[1].sha256, sha256(weights_file()));
}

TEST(Open, ReadsTheFileThatIsNamedBesideItsConfiguration) {
  const auto folder = checkpoint_folder();
  write_file(folder / "other.safetensors", weights_file("other"));
  const Checkpoint checkpoint = open(folder / "other.safetensors");
  EXPECT_NE(checkpoint.weights.find("other"), nullptr);
  EXPECT_EQ(checkpoint.folder, folder);
  ASSERT_EQ(checkpoint.files.size(), 2U);
  EXPECT_EQ(checkpoint.files[1].name, "other.safetensors");
}

TEST(Open, ReadsShards) {
  const auto folder = fresh_folder("model");
  write_file(folder / "config.json", kConfig);
  write_file(folder / "a.safetensors", weights_file("a"));
  write_file(folder / "b.safetensors", weights_file("b"));
  const std::string index = R"({"weight_map":{"a":"a.safetensors","b":"b.safetensors"}})";
  write_file(folder / "model.safetensors.index.json", index);
  const Checkpoint checkpoint = open(folder);
  EXPECT_EQ(checkpoint.weights.all().size(), 2U);
  ASSERT_EQ(checkpoint.files.size(), 4U);
  EXPECT_EQ(checkpoint.files[1].name, "model.safetensors.index.json");
  EXPECT_EQ(checkpoint.files[1].sha256, sha256(index));
  EXPECT_EQ(checkpoint.files[2].name, "a.safetensors");
  EXPECT_EQ(checkpoint.files[3].name, "b.safetensors");
}

TEST(Open, PrefersTheSingleFileToTheIndex) {
  const auto folder = checkpoint_folder();
  write_file(folder / "model.safetensors.index.json", "not even JSON");
  EXPECT_EQ(open(folder).files.size(), 2U);
}

TEST(Open, FindsTheRevisionOfAHubCache) {
  const std::string revision = "df3051d20d8addd16d03c4230046128c17e32826";
  const auto snapshots = fresh_folder("hub") / "models--timm--mobilevit_s" / "snapshots";
  const auto blobs = snapshots.parent_path() / "blobs";
  write_file(blobs / "1111", kConfig);
  write_file(blobs / "2222", weights_file());
  for (const std::string& name : {revision, std::string("main"), revision.substr(1)}) {
    std::filesystem::create_directories(snapshots / name);
    std::filesystem::create_symlink("../../blobs/1111", snapshots / name / "config.json");
    std::filesystem::create_symlink("../../blobs/2222", snapshots / name / "model.safetensors");
  }
  EXPECT_EQ(open(snapshots / revision).revision, revision);
  EXPECT_EQ(open(snapshots / revision / "").revision, revision);
  EXPECT_EQ(open(snapshots / revision / "model.safetensors").revision, revision);
  EXPECT_EQ(open(snapshots / "main").revision, std::nullopt);
  EXPECT_EQ(open(snapshots / revision.substr(1)).revision, std::nullopt);
  const auto elsewhere = fresh_folder("elsewhere") / revision;
  std::filesystem::copy(snapshots / revision, elsewhere, std::filesystem::copy_options::recursive);
  EXPECT_EQ(open(elsewhere).revision, std::nullopt);
}

TEST(Open, TakesTheWrappersPrefixOffWhereEveryNameHasIt) {
  const auto folder = checkpoint_folder();
  const auto two = [](std::string_view a, std::string_view b) {
    return safetensors_bytes(
        "{" + entry(a, "U8", "1", "0,1") + "," + entry(b, "U8", "1", "1,2") + "}", "ab");
  };
  write_file(folder / "model.safetensors", two("timm_model.a", "timm_model.b"));
  EXPECT_NE(open(folder).weights.find("b"), nullptr);
  EXPECT_EQ(open(folder).weights.find("b")->name, "b");
  write_file(folder / "model.safetensors", two("timm_model.a", "b"));
  EXPECT_NE(open(folder).weights.find("timm_model.a"), nullptr);
}

TEST(Open, ReadsTheExamples) {
  struct Example {
    std::string name;
    int size;
    double crop_pct;
  };
  for (const Example& example :
       {Example{"crossvit_9_240", 240, 0.875}, Example{"mobilevit_s", 256, 0.9},
        Example{"mobilevit_xs", 256, 0.9}, Example{"mobilevit_xxs", 256, 0.9}}) {
    SCOPED_TRACE(example.name);
    const Checkpoint checkpoint = open(std::filesystem::path(ASSAY_SOURCE_DIR) / "examples" /
                                       (example.name + ".fashion_mnist"));
    EXPECT_EQ(checkpoint.config.architecture, example.name);
    EXPECT_EQ(checkpoint.config.num_classes, 10);
    EXPECT_EQ(checkpoint.config.labels[9], "ankle boot");
    EXPECT_EQ(checkpoint.config.transform.input_height, example.size);
    EXPECT_EQ(checkpoint.config.transform.crop_pct, example.crop_pct);
    EXPECT_EQ(checkpoint.config.fixed_input_size, example.name == "crossvit_9_240");
    EXPECT_GT(checkpoint.weights.all().size(), 100U);
  }
}

TEST(Open, SaysWhatAFolderLacks) {
  const auto folder = fresh_folder("model");
  expect_error(ErrorKind::not_found, {folder.string(), "config.json"}, [&] { open(folder); });
  expect_error(ErrorKind::not_found, {"absent", "no such checkpoint"},
               [&] { open(folder / "absent"); });
  write_file(folder / "config.json", kConfig);
  expect_error(ErrorKind::not_found, {folder.string(), "no weights", "model.safetensors"},
               [&] { open(folder); });
  write_file(folder / "pytorch_model.bin", "PK");
  expect_error(ErrorKind::bad_input, {folder.string(), "pytorch_model.bin", "pickle", "convert"},
               [&] { open(folder); });
  write_file(folder / "open_clip_model.safetensors", weights_file());
  expect_error(ErrorKind::not_found, {"open_clip_model.safetensors", "path"},
               [&] { open(folder); });
  expect_error(ErrorKind::bad_input, {"pytorch_model.bin", "not a checkpoint"},
               [&] { open(folder / "pytorch_model.bin"); });
}

TEST(Open, SaysWhyAPathCannotBeRead) {
  const auto folder = fresh_folder("model");
  std::filesystem::create_symlink("loop", folder / "loop");
  expect_error(ErrorKind::bad_input, {(folder / "loop").string(), "symbolic links"},
               [&] { open(folder / "loop"); });
  std::filesystem::create_symlink("config.json", folder / "config.json");
  expect_error(ErrorKind::bad_input, {(folder / "config.json").string(), "symbolic links"},
               [&] { open(folder); });
}

TEST(Open, NamesTheFileThatIsWrong) {
  const auto folder = checkpoint_folder();
  write_file(folder / "config.json", "{");
  expect_error(ErrorKind::bad_input, {(folder / "config.json").string(), "JSON"},
               [&] { open(folder); });
  write_file(folder / "config.json", kConfig);
  write_file(folder / "model.safetensors", "short");
  expect_error(ErrorKind::corrupt, {(folder / "model.safetensors").string(), "truncated"},
               [&] { open(folder); });
}

}  // namespace
}  // namespace assay::checkpoint
