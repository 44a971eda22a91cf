#pragma once
/// What a measurement ran on.
#include <string>

#include "base/json.h"

namespace assay::cli {

struct Machine {
  std::string cpu;          ///< the processor's own name; "unknown" where the system hides it
  int cores = 1;            ///< that this process may use
  std::string isa;          ///< the instruction set in use
  bool hypervisor = false;  ///< the system is a virtual machine's guest
  double load = 0;          ///< runnable tasks, mean of the last minute, before measuring

  /// Whether others use the processor too, so that an absolute time says little: a virtual
  /// machine's host gives its cores to whom it likes, and a load is someone's work.
  [[nodiscard]] bool shared() const;
};

/// Reads /proc; what is not there stays at its default.
Machine this_machine();
Json to_json(const Machine& machine);

}  // namespace assay::cli
