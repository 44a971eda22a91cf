#pragma once
/// The room for running graphs: a backend lowers a graph to a plan, and a plan makes sessions. Each
/// backend has its own folder; this header is all that the rooms above know of any of them.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace assay::backend {

/// (pixel / 255 - mean) / std in fp32, for calls that hand in 8-bit pixels.
struct Normalization {
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> std{1, 1, 1};
};

/// The tactics that a machine's own measurements prefer to the default ones, by step name.
using Tactics = std::map<std::string, std::string, std::less<>>;

struct LowerOptions {
  int optimization_level = 1;  ///< 0, 1 or 3
  int max_batch = 1;
  int threads = 0;  ///< 0: available_cores()
  Normalization normalization;
  Tactics tactics{};  ///< at level 3: what tune() found; the default tactic for every other step
};

/// One step of a plan, as `inspect --layers` shows it.
struct StepInfo {
  std::string name;         ///< the node's name
  std::string operation;    ///< "conv2d", "linear", ...
  std::string tactic;       ///< which implementation: "gemm", "inverted residual int8"
  graph::Dims output;       ///< per image
  std::uint64_t flops = 0;  ///< per image, a multiply-add counted as two
  std::uint64_t weight_bytes = 0;
  std::vector<std::string> choices{};  ///< what LowerOptions::tactics may say here, default first
};

/// What a call reads: exactly one of the two is not empty.
struct Input {
  std::span<const std::uint8_t> rgb;  ///< batch × H × W × 3, not normalized
  std::span<const float> tensor;      ///< batch × H × W × 3, normalized
};

/// What a call writes. Spans may be empty where the result is not wanted.
struct Results {
  std::span<float> logits;    ///< batch × classes
  std::span<float> features;  ///< batch × features
};

/// One value as it was computed, for step-by-step comparison.
using TraceCallback =
    std::function<void(const graph::Value& value, int batch, std::span<const float> numbers)>;

/// A plan with its memory: able to run, one call at a time. run() allocates nothing.
class Session {
 public:
  virtual ~Session() = default;
  /// Runs `batch` images, 1 … max_batch. Throws bad_input for spans of the wrong size.
  virtual void run(const Input& input, int batch, const Results& results) = 0;
  /// The same, calling back with every value that the plan materializes, in execution order.
  virtual void trace(const Input& input, int batch, const TraceCallback& callback) = 0;
  /// The same, adding each step's wall time in seconds to `seconds` (one entry a step).
  virtual void profile(const Input& input, int batch, std::span<double> seconds) = 0;
};

/// A graph lowered for one backend. Immutable and thread-safe; weights are shared by its sessions.
class Plan {
 public:
  virtual ~Plan() = default;
  [[nodiscard]] virtual std::span<const StepInfo> steps() const = 0;
  [[nodiscard]] virtual std::uint64_t arena_bytes() const = 0;  ///< one session's activations
  [[nodiscard]] virtual std::string description() const = 0;    ///< "cpu avx512, 2 threads"
  [[nodiscard]] virtual std::unique_ptr<Session> make_session() const = 0;
};

/// A backend as named on a command line.
struct Target {
  std::string backend = "cpu";  ///< "reference", "cpu", "cuda"
  int device = 0;
};
/// "cpu", "reference", "cuda", "cuda:1". Throws bad_input.
Target parse_target(std::string_view text);

/// The most that one core of this machine multiplies and adds with operands of `precision`, in 1e9
/// operations a second: what shares of peak are shares of. Throws unsupported for a backend that is
/// not there for its speed.
double measure_peak(const Target& target, graph::Precision precision);

/// The backends of this build, by name.
std::vector<std::string_view> built_backends();

/// Lowers `graph` (kept alive by the plan). Throws unsupported with the step's name where the
/// backend can't run it or knows no such tactic, and where the backend is not in this build or the
/// machine lacks the device.
std::unique_ptr<Plan> lower(std::shared_ptr<const graph::Graph> graph, const Target& target,
                            const LowerOptions& options);

}  // namespace assay::backend
