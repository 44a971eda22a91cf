#pragma once
/// What may stand in no text file of the project: paths of somebody's machine, secrets, names of
/// machines and of private servers, notes to self.
#include <string>

#include "structure/source_tree.h"

namespace assay::structure {

/// Names of the machine at hand that must not have slipped in; empty ones are not looked for.
struct Machine {
  std::string host;
  std::string source_folder;
  static Machine current();
};

Findings check_hygiene(const SourceFile& file, const Machine& machine);

}  // namespace assay::structure
