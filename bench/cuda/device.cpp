#include "device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"

namespace assay::bench {
namespace {

void expect(cudaError_t error, const char* what, int device) {
  if (error == cudaSuccess) return;
  fail(ErrorKind::unsupported, "GPU {}: {}: {}", device, what, cudaGetErrorString(error));
}

/// 13000 is 13.0.
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

struct ClosePipe {
  void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

/// The first line that a command prints; empty where there is none.
std::string first_line(const std::string& command) {
  const std::unique_ptr<std::FILE, ClosePipe> pipe(::popen(command.c_str(), "r"));
  if (!pipe) return "";
  std::array<char, 1024> line{};
  if (std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr) return "";
  std::string text = line.data();
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

constexpr std::array kFields{"name",        "driver_version",  "pstate",          "clocks.sm",
                             "clocks.mem",  "clocks.max.sm",   "clocks.max.mem",  "power.draw",
                             "power.limit", "temperature.gpu", "utilization.gpu", "memory.used"};

}  // namespace

Json describe_device(int device) {
  cudaDeviceProp properties{};
  int driver = 0;
  int runtime = 0;
  expect(cudaGetDeviceProperties(&properties, device), "no properties", device);
  expect(cudaDriverGetVersion(&driver), "no version of the driver", device);
  expect(cudaRuntimeGetVersion(&runtime), "no version of the runtime", device);
  return {{"name", properties.name},
          {"compute_capability", fmt::format("{}.{}", properties.major, properties.minor)},
          {"multiprocessors", properties.multiProcessorCount},
          {"l2_bytes", properties.l2CacheSize},
          {"memory_bytes", properties.totalGlobalMem},
          {"driver_supports_cuda", version_text(driver)},
          {"cuda_runtime", version_text(runtime)}};
}

Json device_state(int device) {
  const std::string line =
      first_line(fmt::format("nvidia-smi -i {} --query-gpu={} --format=csv,noheader 2>/dev/null",
                             device, fmt::join(kFields, ",")));
  if (line.empty()) return {};
  Json state = Json::object();
  std::istringstream words(line);
  for (const char* field : kFields) {
    std::string word;
    if (!std::getline(words, word, ',')) break;
    state[field] = word.substr(std::min(word.find_first_not_of(' '), word.size()));
  }
  return state;
}

}  // namespace assay::bench
