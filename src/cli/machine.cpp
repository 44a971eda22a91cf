#include "cli/machine.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backend/cpu/isa.h"
#include "base/thread_pool.h"

namespace assay::cli {
namespace {

void read_cpuinfo(Machine& machine) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) machine.cpu = value;
    if (!line.starts_with("flags")) continue;
    std::istringstream flags(value);
    for (std::string flag; flags >> flag;) machine.hypervisor |= flag == "hypervisor";
    return;  // the other cores say the same
  }
}

}  // namespace

bool Machine::shared() const { return hypervisor || load > 0.1 * cores; }

Machine this_machine() {
  Machine machine;
  machine.cpu = "unknown";
  machine.cores = available_cores();
  machine.isa = backend::cpu::name(backend::cpu::active_isa());
  read_cpuinfo(machine);
  ::getloadavg(&machine.load, 1);
  return machine;
}

Json to_json(const Machine& machine) {
  return {{"cpu", machine.cpu},   {"cores", machine.cores},
          {"isa", machine.isa},   {"hypervisor", machine.hypervisor},
          {"load", machine.load}, {"shared", machine.shared()}};
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

}  // namespace assay::cli
