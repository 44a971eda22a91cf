/// assay build, verify and inspect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kXxs = "examples/mobilevit_xxs.fashion_mnist";

/// The exit code, and an error that says `text`; nothing is left under the name asked for.
void expect_build_fails(std::vector<std::string> words, int exit, const std::string& text) {
  const std::string file = scratch("never.assay");
  words.insert(words.begin(), "build");
  words.insert(words.end(), {"-o", file});
  const Outcome outcome = assay(words);
  EXPECT_EQ(outcome.exit, exit) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("assay: error: "));
  EXPECT_THAT(outcome.err, HasSubstr(text));
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(fs::exists(file));
}

/// A copy of the example checkpoint whose files can be spoiled.
std::string copied_checkpoint() {
  const std::string folder = scratch("checkpoint");
  fs::create_directories(folder);
  for (const char* file : {"config.json", "model.safetensors"}) {
    fs::copy(source(kXxs + "/" + file), fs::path(folder) / file);
  }
  return folder;
}

TEST(Build, SaysWhatItWrote) {
  const std::string file = scratch("x.assay");
  const Outcome outcome = assay({"build", source(kXxs), "-o", file, "--max-batch", "4", "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  EXPECT_EQ(json["bundle"], file);
  EXPECT_EQ(json["bytes"], fs::file_size(file));
  EXPECT_EQ(json["architecture"], "mobilevit_xxs");
  EXPECT_EQ(json["family"], "mobilevit");
  EXPECT_EQ(json["precision"], "fp32");
  EXPECT_EQ(json["max_batch"], 4);
  EXPECT_EQ(json["input"], Json({256, 256}));
  EXPECT_EQ(json["classes"], 10);
  EXPECT_EQ(outcome.err, "");
}

TEST(Build, TwiceGivesTheSameBytes) {
  const std::string again = scratch("again.assay");
  const Outcome outcome = assay({"build", source(kXxs), "-o", again});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith(again + ": mobilevit_xxs, fp32, input 256x256, 10 classes"));
  EXPECT_TRUE(read(bundle()) == read(again));
}

TEST(Build, RefusesWhatItCannotDo) {
  expect_build_fails({source(kXxs), "--precision", "fp17"}, 4, "fp17");
  expect_build_fails({source(kXxs), "--precision", "fp8"}, 2, "--calibration");
  expect_build_fails({source(kXxs), "--opt-level", "2"}, 4, "0, 1 or 3");
  expect_build_fails({source(kXxs), "--threads", "2"}, 2, "--tune");
  expect_build_fails({source(kXxs), "--tune", "--opt-level", "1"}, 2, "leave one out");
  expect_build_fails({source(kXxs), "--tune", "--threads", "1024"}, 3, "1024 threads");
}

TEST(Build, RefusesAnInputSizeThatTheConfigurationFixes) {
  expect_build_fails(
      {source("examples/crossvit_9_240.fashion_mnist"), "--input-size", "256", "256"}, 4,
      "fixed_input_size");
}

TEST(Build, TakesAnInputSizeElsewhere) {
  const std::string file = scratch("s192.assay");
  ASSERT_EQ(assay({"build", source(kXxs), "-o", file, "--input-size", "192", "224"}).exit, 0);
  const Outcome outcome = assay({"inspect", file, "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["input"], Json({192, 224}));
}

TEST(Build, NamesWhatIsWrongWithACheckpoint) {
  expect_build_fails({scratch("nothing")}, 3, "nothing");
  const std::string truncated = copied_checkpoint();
  fs::resize_file(fs::path(truncated) / "model.safetensors", 1000);
  expect_build_fails({truncated}, 3, "model.safetensors");
  const std::string config = copied_checkpoint();
  write(fs::path(config) / "config.json", "{\"architecture\": ");
  expect_build_fails({config}, 3, "config.json");
  write(fs::path(config) / "config.json", R"({"architecture": "mobilevit_xx", "num_classes": 10})");
  expect_build_fails({config}, 4, "mobilevit_xxs");
}

TEST(Build, ErrorsAreJsonToo) {
  const Outcome outcome = assay({"build", scratch("gone"), "-o", scratch("x"), "--json"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.json()["error"]["kind"], "not_found");
}

TEST(Verify, PassesAndListsItsChecks) {
  const Outcome outcome = assay({"verify", bundle(), "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  EXPECT_EQ(json["passed"], true);
  EXPECT_GT(json["checks"].size(), 3U);
  for (const Json& check : json["checks"]) EXPECT_EQ(check["passed"], true) << check;
  for (const std::string& line : assay({"verify", bundle()}).lines()) {
    EXPECT_THAT(line, StartsWith("ok "));
  }
}

TEST(Verify, FindsAFlippedBitAnywhere) {
  const auto size = static_cast<std::int64_t>(fs::file_size(bundle()));
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{40}, std::int64_t{1000}, size / 3,
                                    size / 2, std::int64_t{-1}}) {
    const std::string broken = broken_bundle(offset);
    const Outcome verify = assay({"verify", broken});
    EXPECT_EQ(verify.exit, 3) << "offset " << offset << ": " << verify.out << verify.err;
    const Outcome run = assay({"run", broken, source("examples/images/bag.jpg")});
    EXPECT_EQ(run.exit, 3) << "offset " << offset;
    EXPECT_EQ(run.out, "");
  }
}

TEST(Verify, SaysWhichCheckFailed) {
  const Outcome outcome = assay({"verify", broken_bundle(-100), "--json"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_EQ(outcome.json()["passed"], false);
  EXPECT_EQ(outcome.json()["checks"].back()["passed"], false);
  EXPECT_EQ(outcome.json()["checks"].back()["kind"], "corrupt");
  EXPECT_THAT(outcome.err, StartsWith("assay: error: "));
}

TEST(Verify, RefusesWhatIsNoBundle) {
  EXPECT_EQ(assay({"verify", scratch("gone")}).exit, 3);
  EXPECT_EQ(assay({"verify", source("README.md")}).exit, 3);
}

TEST(Inspect, DescribesABundle) {
  const Outcome outcome = assay({"inspect", bundle(), "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  EXPECT_EQ(json["architecture"], "mobilevit_xxs");
  EXPECT_EQ(json["family"], "mobilevit");
  EXPECT_EQ(json["labels"][9], "ankle boot");
  EXPECT_EQ(json["transform"]["interpolation"], "bicubic");
  EXPECT_GT(json["parameters"], 900'000);
  EXPECT_GT(json["flops"], 400'000'000);
  EXPECT_EQ(json["file_bytes"], fs::file_size(bundle()));
  EXPECT_FALSE(json["sections"].empty());
  EXPECT_EQ(json["provenance"]["files"].size(), 2U);
  EXPECT_FALSE(json.contains("layers"));
  EXPECT_THAT(assay({"inspect", bundle()}).out, HasSubstr("mobilevit_xxs"));
}

TEST(Inspect, ACheckpointIsShownAsItsBuild) {
  const Json of_bundle = assay({"inspect", bundle(), "--json"}).json();
  const Outcome outcome = assay({"inspect", source(kXxs), "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  for (const char* field : {"architecture", "labels", "parameters", "flops", "weight_bytes"}) {
    EXPECT_EQ(json[field], of_bundle[field]) << field;
  }
  EXPECT_FALSE(json.contains("sections"));
}

TEST(Inspect, LayersAndProfileCoverThePlan) {
  const Outcome outcome = assay({"inspect", bundle(), "--profile", "--threads", "1", "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  std::uint64_t flops = 0;
  double seconds = 0;
  for (const Json& layer : json["layers"]) {
    flops += layer["flops"].get<std::uint64_t>();
    seconds += layer["median_seconds"].get<double>();
    EXPECT_EQ(layer["share_of_peak"].is_null(), layer["flops"] == 0) << layer;
    if (!layer["share_of_peak"].is_null()) {
      EXPECT_GT(layer["share_of_peak"], 0) << layer;
    }
  }
  EXPECT_GT(json["peak_gflops"]["fp32"], 1);
  EXPECT_EQ(flops, json["flops"].get<std::uint64_t>());
  EXPECT_GT(seconds, 0);
  const Outcome text = assay({"inspect", bundle(), "--layers"});
  EXPECT_THAT(text.out, HasSubstr("tactic"));
  EXPECT_THAT(text.out, testing::Not(HasSubstr("GFLOP/s")));
  EXPECT_THAT(assay({"inspect", bundle(), "--profile"}).out, HasSubstr("peak at fp32"));
}

TEST(Build, NeverWritesOverItsInput) {
  const std::string weights = copied_checkpoint() + "/model.safetensors";
  const auto size = fs::file_size(weights);
  const std::string folder = fs::path(weights).parent_path().string();
  const Outcome outcome = assay({"build", folder, "-o", weights});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("is the input"));
  EXPECT_EQ(fs::file_size(weights), size);
  EXPECT_EQ(assay({"build", folder, "-o", "-"}).exit, 2);
}

}  // namespace
}  // namespace assay::cli_test
