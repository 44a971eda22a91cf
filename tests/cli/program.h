#pragma once
/// Runs the built program and looks at what a user would see of it.
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace assay::cli_test {

/// What a run left behind.
struct Outcome {
  int exit = -1;  ///< 128 + the signal where one ended it
  std::string out;
  std::string err;
  /// Standard output as one JSON value. Throws where it is not.
  [[nodiscard]] Json json() const;
  /// Standard output's lines.
  [[nodiscard]] std::vector<std::string> lines() const;
};

/// How a run is started, where it matters.
struct Surroundings {
  std::string input{};                     ///< on standard input
  std::vector<std::string> environment{};  ///< "NAME=value", beside what the tests themselves have
  std::filesystem::path output{};  ///< where standard output goes instead of to Outcome::out
};

/// Runs `assay WORDS...` and waits for it.
Outcome assay(const std::vector<std::string>& words, const Surroundings& surroundings = {});

/// A fresh file name in this test program's own temporary folder.
std::string scratch(const std::string& name);
/// A file of the source tree: source("examples/images/bag.jpg").
std::string source(const std::string& path);
std::string read(const std::filesystem::path& file);
void write(const std::filesystem::path& file, const std::string& bytes);

/// The bundle of examples/mobilevit_xxs.fashion_mnist; built by the program once a test run.
const std::string& bundle();
/// A bundle of another example checkpoint, built likewise.
std::string bundle_of(const std::string& checkpoint);
/// The shared bundle's copy with the byte at `offset` (from the end where negative) changed.
std::string broken_bundle(std::int64_t offset);

}  // namespace assay::cli_test
