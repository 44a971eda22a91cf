#include "cli/machine.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backend/cpu/isa.h"
#include "base/machine.h"
#include "base/thread_pool.h"

namespace assay::cli {
namespace {

bool is_guest() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream flags(line);
    for (std::string flag; flags >> flag;) {
      if (flag == "hypervisor") return true;
    }
    return false;  // the other cores say the same
  }
  return false;
}

}  // namespace

bool Machine::shared() const { return hypervisor || load > 0.1 * cores; }

Machine this_machine() {
  Machine machine;
  machine.cpu = cpu_model();
  machine.cores = available_cores();
  machine.isa = backend::cpu::name(backend::cpu::active_isa());
  machine.hypervisor = is_guest();
  ::getloadavg(&machine.load, 1);
  return machine;
}

Json to_json(const Machine& machine) {
  return {{"cpu", machine.cpu},   {"cores", machine.cores},
          {"isa", machine.isa},   {"hypervisor", machine.hypervisor},
          {"load", machine.load}, {"shared", machine.shared()}};
}

}  // namespace assay::cli
