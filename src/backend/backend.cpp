#include "backend/backend.h"

#include <array>
#include <charconv>

#include "backend/cpu/cpu.h"
#include "backend/cpu/peak.h"
#ifdef ASSAY_CUDA
#include "backend/cuda/cuda.h"
#endif
#include "backend/reference/plan.h"
#include "base/error.h"

namespace assay::backend {
namespace {

/// A backend of this build: what it is called, and how it lowers for a device, where it has
/// several.
struct Entry {
  std::string_view name;
  std::unique_ptr<Plan> (*lower)(std::shared_ptr<const graph::Graph>, int device,
                                 const LowerOptions&);
};

template <std::unique_ptr<Plan> (*kLower)(std::shared_ptr<const graph::Graph>, const LowerOptions&)>
std::unique_ptr<Plan> lower_anywhere(std::shared_ptr<const graph::Graph> graph, int /*device*/,
                                     const LowerOptions& options) {
  return kLower(std::move(graph), options);
}

constexpr auto kBackends = std::to_array<Entry>({{"cpu", lower_anywhere<cpu::lower>},
#ifdef ASSAY_CUDA
                                                 {"cuda", cuda::lower},
#endif
                                                 {"reference", lower_anywhere<reference::lower>}});

constexpr int kMaxDevice = 63;
constexpr int kMaxBatch = 65536;

void check(const LowerOptions& options) {
  const int level = options.optimization_level;
  if (level != 0 && level != 1 && level != 3) {
    fail(ErrorKind::unsupported, "optimization level {} is not supported; 0, 1 and 3 are", level);
  }
  if (level != 3 && !options.tactics.empty()) {
    fail(ErrorKind::bad_input, "tuned tactics are for optimization level 3, not {}", level);
  }
  if (options.max_batch < 1 || options.max_batch > kMaxBatch) {
    fail(ErrorKind::bad_input, "a largest batch of {} is outside 1 to {}", options.max_batch,
         kMaxBatch);
  }
  if (options.threads < 0) fail(ErrorKind::bad_input, "{} threads are asked for", options.threads);
}

int parse_device(std::string_view text, std::string_view digits) {
  int device = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), device);
  if (error != std::errc() || end != digits.data() + digits.size() || device < 0 ||
      device > kMaxDevice) {
    fail(ErrorKind::bad_input, "backend '{}': the device needs to be a number of 0 to {}", text,
         kMaxDevice);
  }
  return device;
}

}  // namespace

Target parse_target(std::string_view text) {
  const std::size_t colon = text.find(':');
  Target target{std::string(text.substr(0, colon)), 0};
  if (target.backend != "reference" && target.backend != "cpu" && target.backend != "cuda") {
    fail(ErrorKind::bad_input, "there is no backend '{}'; there are reference, cpu and cuda", text);
  }
  if (colon != std::string_view::npos) {
    if (target.backend != "cuda") {
      fail(ErrorKind::bad_input, "backend '{}': only cuda has numbered devices", text);
    }
    target.device = parse_device(text, text.substr(colon + 1));
  }
  return target;
}

double measure_peak(const Target& target, graph::Precision precision) {
  if (target.backend == "cpu") return cpu::measure_peak(precision);
  fail(ErrorKind::unsupported, "the {} backend has no peak to measure", target.backend);
}

std::vector<std::string_view> built_backends() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kBackends) names.push_back(entry.name);
  return names;
}

std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph, const Target& target,
                            const LowerOptions& options) {
  check(options);
  if (target.backend == "reference" && !options.tactics.empty()) {
    fail(ErrorKind::unsupported, "the reference backend has no tactics to choose from");
  }
  graph::verify(*graph);
  for (const Entry& entry : kBackends) {
    if (entry.name == target.backend) {
      return entry.lower(std::move(graph), target.device, options);
    }
  }
  if (target.backend == "cuda") {
    fail(ErrorKind::unsupported, "this build has no CUDA backend; use cpu or reference");
  }
  fail(ErrorKind::unsupported, "this build has no backend '{}'", target.backend);
}

}  // namespace assay::backend
