#pragma once
/// Whether what people wrote and what studies left behind agree with this build and with each
/// other: manifests, recipes, specifications and records of studies, and pages of Markdown.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace assay::study {

struct Validation {
  std::size_t manifests = 0;
  std::size_t recipes = 0;
  std::size_t specifications = 0;
  std::size_t records = 0;
  std::size_t pages = 0;
  /// One line each: "FILE:LINE: KEY is FOUND, expected EXPECTED" where there are lines and keys.
  /// Of a TOML file and of a record the first problem alone.
  std::vector<std::string> problems;

  [[nodiscard]] std::size_t files() const {
    return manifests + recipes + specifications + records + pages;
  }
};

/// Checks files, and all that folders hold but for hidden folders and those called build, shared
/// and node_modules: *.md, study.json, and *.toml, which is a manifest in a folder called manifests
/// or where it has a [source], a study's specification where it has a [[model]], and a recipe
/// otherwise. Links may not leave a folder that is given. Throws not_found for a path that is not
/// there, bad_input for a file of another kind and where there is nothing to check.
Validation validate(std::span<const std::filesystem::path> paths);

}  // namespace assay::study
