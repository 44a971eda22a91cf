#include "base/machine.h"

#include <fmt/format.h>

#include <fstream>
#include <map>

namespace assay {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> fields;
  for (std::string line; std::getline(file, line) && !line.empty();) {  // of the first core
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of(" \t", colon - 1);
    fields[line.substr(0, end + 1)] = line.substr(colon + 2);
  }
  const auto field = [&](const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  const std::string name = field("model name");
  if (name.empty()) return "unknown";
  // Virtual machines hide what distinguishes a generation from the next; family and model do not.
  if (field("cpu family").empty()) return name;
  return name + ", family " + field("cpu family") + ", model " + field("model");
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

}  // namespace assay
