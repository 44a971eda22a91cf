#include "cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace assay::cli_test {
namespace {

namespace fs = std::filesystem;

/// One folder a test program, removed when it ends.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(fs::path(testing::TempDir()) / ("cli_tests." + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// Files for the three standard streams: with pipes, a full one could block both sides.
class Streams {
 public:
  Streams(const std::string& input, const std::string& output, const std::string& errors) {
    posix_spawn_file_actions_init(&actions_);
    open(STDIN_FILENO, input, O_RDONLY);
    open(STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC);
    open(STDERR_FILENO, errors, O_WRONLY | O_CREAT | O_TRUNC);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() { posix_spawn_file_actions_destroy(&actions_); }
  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  void open(int descriptor, const std::string& path, int flags) {
    posix_spawn_file_actions_addopen(&actions_, descriptor, path.c_str(), flags, 0600);
  }
  posix_spawn_file_actions_t actions_;
};

int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Json Outcome::json() const { return Json::parse(out); }

std::vector<std::string> Outcome::lines() const {
  std::vector<std::string> result;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

Outcome assay(const std::vector<std::string>& words, const Surroundings& surroundings) {
  std::vector<std::string> arguments{ASSAY_PROGRAM};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> environment = surroundings.environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  const std::string input = scratch("stdin");
  const std::string errors = scratch("stderr");
  const std::string output =
      surroundings.output.empty() ? scratch("stdout") : surroundings.output.string();
  write(input, surroundings.input);
  const Streams streams(input, output, errors);
  pid_t child = 0;
  if (posix_spawn(&child, ASSAY_PROGRAM, streams.actions(), nullptr, pointers(arguments).data(),
                  pointers(environment).data()) != 0) {
    throw std::runtime_error("the program can't be started: " ASSAY_PROGRAM);
  }
  Outcome outcome;
  outcome.exit = wait_for(child);
  if (surroundings.output.empty()) outcome.out = read(output);
  outcome.err = read(errors);
  return outcome;
}

std::string scratch(const std::string& name) {
  static const ScratchFolder folder;
  static int count = 0;
  return (folder.path() / (std::to_string(++count) + "." + name)).string();
}

std::string source(const std::string& path) { return (fs::path(ASSAY_SOURCE_DIR) / path).string(); }

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write(const fs::path& file, const std::string& bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error("can't write " + file.string());
}

const std::string& bundle() {
  static const std::string path = bundle_of("mobilevit_xxs.fashion_mnist");
  return path;
}

std::string bundle_of(const std::string& checkpoint) {
  static std::map<std::string, std::string> built;
  std::string& path = built[checkpoint];
  if (!path.empty()) return path;
  const std::string name = scratch(checkpoint + ".assay");
  const Outcome outcome = assay({"build", source("examples/" + checkpoint), "-o", name});
  if (outcome.exit != 0) throw std::runtime_error("building " + checkpoint + ": " + outcome.err);
  return path = name;
}

std::string broken_bundle(std::int64_t offset) {
  std::string bytes = read(bundle());
  const auto size = static_cast<std::int64_t>(bytes.size());
  bytes.at(static_cast<std::size_t>(offset < 0 ? size + offset : offset)) ^= 0x10;
  std::string path = scratch("broken.assay");
  write(path, bytes);
  return path;
}

}  // namespace assay::cli_test
