#include "study/machine_facts.h"

#include <sys/utsname.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "backend/cpu/isa.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/thread_pool.h"

namespace assay::study {
namespace {

/// The value of `key` in a file of lines "KEY<separator>VALUE"; empty where there is none.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return "";
}

double memory_gb() {
  std::istringstream text(value_in("/proc/meminfo", "MemTotal:"));
  double kibibytes = 0;
  text >> kibibytes;
  return kibibytes * 1024 / 1e9;
}

/// "Debian GNU/Linux 12 (bookworm), Linux 6.1": the kernel's first two numbers, no more.
std::string operating_system() {
  std::string name = value_in("/etc/os-release", "PRETTY_NAME=");
  std::erase(name, '"');
  utsname kernel{};
  if (::uname(&kernel) != 0) return name.empty() ? "unknown" : name;
  std::string release = kernel.release;
  const std::size_t second_dot = release.find('.', release.find('.') + 1);
  release = release.substr(0, second_dot);
  return fmt::format("{}{}{} {}", name, name.empty() ? "" : ", ",
                     static_cast<const char*>(kernel.sysname), release);
}

}  // namespace

Machine machine_facts(int threads) {
  Machine machine;
  machine.cpu_model = cpu_model();
  machine.isa = backend::cpu::name(backend::cpu::active_isa());
  machine.cores = static_cast<std::uint64_t>(available_cores());
  machine.threads = threads > 0 ? static_cast<std::uint64_t>(threads) : machine.cores;
  machine.memory_gb = memory_gb();
  machine.os = operating_system();
  machine.compiler = compiler();
  std::array<double, 3> load{};
  if (::getloadavg(load.data(), 3) == 3) machine.load_at_start.assign(load.begin(), load.end());
  return machine;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

}  // namespace assay::study
