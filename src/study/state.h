#pragma once
/// How far a study has come, kept in its folder so that it can be taken up again.
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "study/schema.h"

namespace assay::study {

/// The record as it grows and the names of the parts that are done, in `folder`/state.json. It is
/// replaced as a whole after each part, so a study that is stopped at any moment can be resumed.
class StudyState {
 public:
  /// `identity` stands for everything that results depend on. With `resume`, takes up what is
  /// there; throws bad_input where that was begun under another identity, and, without `resume`,
  /// where anything is there at all, or where the folder has files of something else.
  StudyState(std::filesystem::path folder, std::string identity, bool resume);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  Study study;  ///< to be filled in

  /// Runs `work`, which fills in its part of `study`, unless that was done; then saves.
  void part(const std::string& name, const std::function<void()>& work);
  [[nodiscard]] bool done(const std::string& name) const { return done_.contains(name); }

  /// Removes the folder: the study is complete and stands in its own files.
  void remove();

 private:
  void check_own(bool begun) const;
  void load(const std::filesystem::path& file);
  void save() const;

  std::filesystem::path folder_;
  std::string identity_;
  std::set<std::string> done_;
};

}  // namespace assay::study
