#include "structure/hygiene.h"

#include <gtest/gtest.h>

namespace assay::structure {
namespace {

TEST(Hygiene, NoFileNamesAMachineASecretOrSomebodysFolder) {
  const Machine machine = Machine::current();
  for (const SourceFile& file : source_files()) {
    for (const std::string& found : check_hygiene(file, machine)) ADD_FAILURE() << found;
  }
}

/// How many findings `line` gives on a machine named "bigiron" with the sources in /assay.
std::size_t found(const std::string& line) {
  return check_hygiene(snippet("a.txt", "fine\n" + line + "\n"), {"bigiron", "/assay"}).size();
}

// The bad lines are put together here, so that this file itself passes.
const std::string kSlash = "/";

TEST(HygieneCheck, FindsPathsOfSomebodysFolder) {
  EXPECT_EQ(found("open(\"" + kSlash + "home/alice/x\")"), 1U);
  EXPECT_EQ(found(kSlash + "work/main/src"), 1U);
  EXPECT_EQ(found("at " + kSlash + "root/x"), 1U);
  EXPECT_EQ(found("C:" + std::string("\\") + "Users\\bob"), 1U);
  EXPECT_EQ(found("see ../" + std::string("shared/x.md")), 1U);
}

TEST(HygieneCheck, FindsSecrets) {
  EXPECT_EQ(found("AK" + std::string("IA") + std::string(16, 'Q')), 1U);
  EXPECT_EQ(found("key: gh" + std::string("p_") + std::string(36, 'a')), 1U);
  EXPECT_EQ(found("h" + std::string("f_") + std::string(34, 'a')), 1U);
  EXPECT_EQ(found("-----BEGIN RSA" + std::string(" PRIVATE KEY-----")), 1U);
  EXPECT_EQ(found("pass" + std::string("word = \"hunter2hunter2\"")), 1U);
  EXPECT_EQ(found("https://me:" + std::string("pw@example.org/x")), 1U);
}

TEST(HygieneCheck, FindsNamesOfMachines) {
  EXPECT_EQ(found("measured on bigiron"), 1U);
  EXPECT_EQ(found("-I" + kSlash + "assay/include"), 0U);
  EXPECT_EQ(found("cd " + kSlash + "assay"), 1U);
  EXPECT_EQ(found("ssh 192.168" + std::string(".1.7")), 1U);
  EXPECT_EQ(found("ssh node7.inter" + std::string("nal")), 1U);
  EXPECT_EQ(found("--index-url" + std::string(" https://mirror.example.org/simple")), 1U);
}

TEST(HygieneCheck, FindsNotesToSelf) { EXPECT_EQ(found("// TO" + std::string("DO: later")), 1U); }

TEST(HygieneCheck, AcceptsWhatIsNobodysBusiness) {
  for (const char* line :
       {"include/assay/assay.h", "https://github.com/home/x", "tests/data/a.png", "version 10.2.3",
        "#!/usr/bin/env bash", "a.data/b", "\"sha256\": \"ab\"", "std::string token = \"x\";",
        "build/release/assay"}) {
    EXPECT_EQ(found(line), 0U) << line;
  }
}

}  // namespace
}  // namespace assay::structure
