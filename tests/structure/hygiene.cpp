#include "structure/hygiene.h"

#include <regex.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <set>
#include <stdexcept>

namespace assay::structure {
namespace {

/// A POSIX extended regular expression. std::regex recurses once a character: long lines crash it.
class Pattern {
 public:
  Pattern(const std::string& what, const std::string& expression, int flags = 0)
      : what_(what), compiled_(new regex_t, [](regex_t* compiled) {
          regfree(compiled);
          delete compiled;
        }) {
    if (regcomp(compiled_.get(), expression.c_str(), REG_EXTENDED | REG_NOSUB | flags) != 0) {
      throw std::invalid_argument("bad expression: " + expression);
    }
  }
  [[nodiscard]] bool matches(const std::string& line) const {
    return regexec(compiled_.get(), line.c_str(), 0, nullptr, 0) == 0;
  }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  std::string what_;
  std::shared_ptr<regex_t> compiled_;
};

// Where a path may begin: not inside another path, a URL or a word.
const std::string kPathStart = "(^|[^A-Za-z0-9_./~-])";

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all{
      {"an absolute path of somebody's folder",
       kPathStart + "/(home|root|Users|work|workspace|workspaces|mnt|data)/[A-Za-z0-9_.]"},
      {"an absolute path of somebody's folder", "[A-Za-z]:\\\\+Users\\\\"},
      {"a path outside the project", "\\.\\./shared([^A-Za-z0-9_]|$)"},
      {"a private key", "-----BEGIN [A-Z ]*PRIVATE KEY"},
      {"an access token",
       "(^|[^A-Za-z0-9])(AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22}|"
       "glpat-[A-Za-z0-9_-]{20}|hf_[A-Za-z0-9]{30}|sk-[A-Za-z0-9_-]{20}|xox[abprs]-[A-Za-z0-9-]{10}"
       "|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{16})"},
      {"what looks like a secret",
       "(password|passwd|secret|api_?key|access_?key|auth_?token)[\"']?[ ]*[:=][ ]*[\"']"
       "[A-Za-z0-9+/_=-]{12,}[\"']",
       REG_ICASE},
      {"credentials in an address", "[a-z]+://[^/ @\"']+:[^/ @\"']+@"},
      {"an address of a private network",
       "(^|[^0-9.])(10\\.[0-9]{1,3}|192\\.168|172\\.(1[6-9]|2[0-9]|3[01]))\\.[0-9]{1,3}\\.[0-9]{1,"
       "3}"
       "([^0-9.]|$)"},
      {"the name of a private host",
       "[A-Za-z0-9-]\\.(internal|intranet|corp|lan|localdomain|svc\\.cluster\\.local)([^A-Za-z0-9_("
       "]"
       "|$)"},
      {"the address of a package registry or proxy",
       "(index[-_]url|registry|https?_proxy|GOPROXY)[\"']?[ ]*[:= ][ ]*[\"']?https?://", REG_ICASE},
      {"a note to self", "(^|[^A-Za-z_])(TO[D]O|FIX[M]E)([^A-Za-z_]|$)"},
  };
  return all;
}

/// Whether `path` stands in `line` as a path of its own ("include/assay" does not hold "/assay").
bool holds_path(const std::string& line, const std::string& path) {
  for (auto at = line.find(path); at != std::string::npos; at = line.find(path, at + 1)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) == 0 &&
        std::string("_./~-}").find(before) == std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

Machine Machine::current() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const std::string host = name.data();
  // Names that are also words of this project or of everybody's machine say nothing.
  static const std::set<std::string> common{"localhost", "debian",    "ubuntu", "builder",
                                            "runner",    "container", "assay"};
  return {host.size() < 6 || common.contains(host) ? "" : host, ASSAY_SOURCE_DIR};
}

Findings check_hygiene(const SourceFile& file, const Machine& machine) {
  Findings findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    for (const Pattern& pattern : patterns()) {
      if (pattern.matches(line)) findings.push_back(finding(file, i + 1, pattern.what()));
    }
    if (!machine.host.empty() && line.find(machine.host) != std::string::npos) {
      findings.push_back(finding(file, i + 1, "this machine's name"));
    }
    if (!machine.source_folder.empty() && holds_path(line, machine.source_folder)) {
      findings.push_back(finding(file, i + 1, "the path of this source tree"));
    }
  }
  return findings;
}

}  // namespace assay::structure
