/// assay study and assay sensitivity, as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kData = "examples/fashion-mnist/t10k-images-idx3-ubyte.gz";

/// A specification whose paths are the source tree's.
std::string spec() {
  return "name = \"tiny\"\ntitle = \"A title\"\nquestion = \"A question?\"\ndata = \"" +
         source(kData) +
         "\"\n[calibration]\nstride = 5000\n[held_out]\nstride = 2500\noffset = 1\n"
         "[ablation]\nimages = 2\n[speed]\nwarmup = 0\nrounds = 2\n"
         "[[model]]\nname = \"xxs\"\ncheckpoint = \"" +
         source("examples/mobilevit_xxs.fashion_mnist") +
         "\"\n[[variant]]\nname = \"fp32\"\nrecipe = \"fp32\"\n"
         "[[variant]]\nname = \"bf16\"\nrecipe = \"bf16\"\n";
}

/// Made once.
const std::string& study_folder() {
  static const std::string folder = [] {
    const std::string file = scratch("tiny.toml");
    write(file, spec());
    std::string made = scratch("tiny-study");
    const Outcome outcome = assay({"study", file, "-o", made, "--threads", "1"});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("bf16"));
    return made;
  }();
  return folder;
}

TEST(StudyVerb, WritesTheRecordAndItsPages) {
  const Json study = Json::parse(read(fs::path(study_folder()) / "study.json"));
  EXPECT_EQ(study["name"], "tiny");
  EXPECT_EQ(study["machine"]["threads"], 1);
  EXPECT_EQ(study["models"][0]["variants"].size(), 2U);
  EXPECT_THAT(read(fs::path(study_folder()) / "README.md"), HasSubstr("A question?"));
  EXPECT_THAT(read(fs::path(study_folder()) / "report.html"), HasSubstr("</html>"));
  EXPECT_FALSE(fs::exists(fs::path(study_folder()) / "state"));
}

TEST(StudyVerb, VerifiesASampleAndFindsALie) {
  const Outcome holds = assay({"study", "--verify", study_folder(), "--sample", "2", "--json"});
  EXPECT_EQ(holds.exit, 0) << holds.out << holds.err;
  EXPECT_EQ(holds.json()[0]["check"], "README.md");
  const std::string page = read(fs::path(study_folder()) / "README.md");
  write(fs::path(study_folder()) / "README.md", page + "\nThe variant is 98.76% better.\n");
  const Outcome differs = assay({"study", "--verify", study_folder(), "--sample", "2"});
  write(fs::path(study_folder()) / "README.md", page);
  EXPECT_EQ(differs.exit, 1);
  EXPECT_THAT(differs.out, HasSubstr("98.76"));
}

TEST(StudyVerb, LeavesAFinishedStudyAsItIs) {
  const std::string file = scratch("again.toml");
  write(file, spec());
  const fs::path record = fs::path(study_folder()) / "study.json";
  const std::string before = read(record);
  const Outcome anew = assay({"study", file, "-o", study_folder()});
  EXPECT_EQ(anew.exit, 3);
  EXPECT_THAT(anew.err, HasSubstr("holds a finished study"));
  EXPECT_THAT(anew.err, HasSubstr("name another folder, or remove this one"));
  fs::remove(fs::path(study_folder()) / "report.html");
  const Outcome resumed = assay({"study", file, "-o", study_folder(), "--resume"});
  EXPECT_EQ(resumed.exit, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("was finished already"));
  EXPECT_TRUE(fs::exists(fs::path(study_folder()) / "report.html")) << "it was lacking";
  const std::string other = scratch("other.toml");
  write(other, "# Another.\n" + spec());
  const Outcome refused = assay({"study", other, "-o", study_folder(), "--resume"});
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.err, HasSubstr("of another specification"));
  const Outcome threads =
      assay({"study", file, "-o", study_folder(), "--resume", "--threads", "2"});
  EXPECT_EQ(threads.exit, 3);
  EXPECT_THAT(threads.err, HasSubstr("was run with 1 threads, and 2 are asked for"));
  EXPECT_EQ(read(record), before);
}

TEST(StudyVerb, ComparesTwoFolders) {
  const Outcome outcome = assay({"study", "--compare", study_folder(), study_folder()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("xxs"));
}

TEST(StudyVerb, RefusesWordsThatDoNotFit) {
  EXPECT_EQ(assay({"study", "a.toml"}).exit, 2) << "no -o";
  EXPECT_EQ(assay({"study", "a.toml", "b.toml", "-o", scratch("x")}).exit, 2);
  EXPECT_EQ(assay({"study", "--compare", "a"}).exit, 2);
  EXPECT_EQ(assay({"study", "a.toml", "-o", scratch("x"), "--sample", "3"}).exit, 2);
  EXPECT_EQ(assay({"study", "--verify", "a", "--resume"}).exit, 2);
  EXPECT_EQ(assay({"study", scratch("absent.toml"), "-o", scratch("x")}).exit, 3);
}

TEST(StudyVerb, NamesAnUnreadableImageBeforeItBegins) {
  const fs::path folder = scratch("images");
  fs::create_directories(folder);
  std::string list = "path,label\n";
  for (const std::string name : {"bag.jpg", "sandal.png", "shirt.png", "broken.png", "dress.png"}) {
    const std::string from = name == "broken.png" ? "sandal.png" : name;
    const std::string bytes = read(source("examples/images/" + from));
    write(folder / name, name == "broken.png" ? bytes.substr(0, 200) : bytes);
    list += name + ",1\n";
  }
  write(folder / "list.csv", list);
  const auto run = [&](const std::string& selections) {
    std::string text = spec();
    const auto data = text.find("data = "), models = text.find("[ablation]");
    text.replace(data, models - data,
                 "data = \"" + (folder / "list.csv").string() + "\"\n" + selections);
    const std::string file = scratch("images.toml");
    write(file, text);
    return assay({"study", file, "-o", (folder / "out").string()});
  };
  const Outcome held_out = run("[calibration]\nlimit = 2\n");
  EXPECT_EQ(held_out.exit, 3);
  EXPECT_THAT(held_out.err, HasSubstr("1 of the 5 images that the study selects can't be read"));
  EXPECT_THAT(held_out.err,
              HasSubstr("image 3 of [held_out]: " + (folder / "broken.png").string()));
  EXPECT_THAT(run("[calibration]\noffset = 3\n").err, HasSubstr("image 3 of [calibration]: "));
  EXPECT_TRUE(fs::is_empty(folder / "out" / "state")) << "nothing was begun";
}

TEST(StudyVerb, RefusesAnUnknownKeyWithItsLine) {
  const std::string file = scratch("unknown.toml");
  write(file, "colour = \"red\"\n" + spec());
  const Outcome outcome = assay({"study", file, "-o", scratch("unknown")});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr(":1"));
  EXPECT_THAT(outcome.err, HasSubstr("colour"));
}

TEST(SensitivityVerb, WritesATableAndAPlot) {
  const std::string table = scratch("layers.csv");
  const std::string picture = scratch("layers.svg");
  const Outcome outcome =
      assay({"sensitivity", bundle(), "--recipe", "bf16", "--data", source(kData), "--stride",
             "5000", "-o", table, "--plot", picture, "--json"});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const Json json = outcome.json();
  EXPECT_EQ(json["images"], 2);
  EXPECT_GT(json["layers"].size(), 20U);
  EXPECT_THAT(read(table), testing::StartsWith("layer,role,precision,multiply_adds,sqnr_db"));
  EXPECT_THAT(read(picture), HasSubstr("</svg>"));
}

TEST(SensitivityVerb, TakesACalibrationWhereTheRecipeNeedsOne) {
  const Outcome lacking =
      assay({"sensitivity", bundle(), "--recipe", "fp8-vit-max", "--data", source(kData)});
  EXPECT_EQ(lacking.exit, 2);
  EXPECT_THAT(lacking.err, HasSubstr("fp8-vit-max needs --calibration FILE"));
  const Outcome idle = assay({"sensitivity", bundle(), "--recipe", "bf16", "--data", source(kData),
                              "--calibration", "ranges.json"});
  EXPECT_EQ(idle.exit, 2);
  EXPECT_THAT(idle.err, HasSubstr("the recipe bf16 does not take it"));
}

}  // namespace
}  // namespace assay::cli_test
