#pragma once
/// Running a study: from its specification to the folder that holds the record.
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

#include "study/schema.h"
#include "study/spec.h"

namespace assay::study {

struct RunStudyOptions {
  std::filesystem::path output;  ///< the folder; made where it is not there
  bool resume = false;           ///< goes on with what an interrupted run left in it
  int threads = 0;               ///< 0: the specification's, and without one all cores
  /// Asked now and then; true stops with StudyStopped, and what is done is kept.
  std::function<bool()> stop{};
};

/// A run was asked to stop; --resume takes it up.
class StudyStopped : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the study was stopped"; }
};

/// The finished study that the output folder holds; none where there is none, or one that is not
/// finished. Throws bad_input where it is of another specification or number of threads, and as
/// read_study().
std::optional<Study> finished_study(const Spec& spec, const RunStudyOptions& options);

/// Runs everything that the specification asks for. Leaves in the folder study.json, calibrations,
/// recipes as they were used, and samples.json; nothing is rendered. While it runs, a folder
/// "state" there holds what is done. Progress is shown on a terminal. Throws bad_input for a folder
/// that holds a finished study or something else, and whatever its parts throw.
Study run_study(const Spec& spec, const RunStudyOptions& options);

}  // namespace assay::study
