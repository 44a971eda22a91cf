/// The smallest C++ program that answers with ONNX Runtime: one model, one input, logits printed.
///
///     onnxruntime_start LIBRARY MODEL INPUT THREADS LEVEL
///
/// LIBRARY is libonnxruntime.so, as the Python package ships it; that package has no headers, so
/// the library is opened at run time and its C interface reached as its ABI lays it down: a table
/// of functions in which places only ever get added at the end. INPUT holds the float32 numbers of
/// a square image [1, 3, H, H]. LEVEL is the graph optimization: 99 all, 0 none (for a model that
/// was stored optimized). The model's input is `x`, its output `logits`.
#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Handle = void*;  // every object of the interface is opaque
using Status = void*;  // null where all went well

/// Places in the table, of version 1 of the interface, that never change.
enum Place : std::size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetSessionGraphOptimizationLevel = 23,
  kSetIntraOpNumThreads = 24,
  kCreateTensorWithDataAsOrtValue = 49,
  kGetTensorMutableData = 51,
  kGetTensorShapeElementCount = 64,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
};

struct ApiBase {
  const Handle* (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};

constexpr std::uint32_t kVersion = 1;
constexpr int kWarning = 2;
constexpr int kFloat = 1;
constexpr int kArenaAllocator = 1;
constexpr int kDefaultMemory = 0;

class Api {
 public:
  explicit Api(const char* library) {
    const Handle opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) throw std::runtime_error(dlerror());
    const auto base =
        reinterpret_cast<const ApiBase* (*)()>(dlsym(opened, "OrtGetApiBase"));  // NOLINT
    if (base == nullptr) throw std::runtime_error(dlerror());
    table_ = base()->get_api(kVersion);
    if (table_ == nullptr) throw std::runtime_error("the library lacks version 1 of its interface");
  }

  template <typename... Arguments>
  void call(Place place, Arguments... arguments) const {
    const auto function = reinterpret_cast<Status (*)(Arguments...)>(table_[place]);  // NOLINT
    const Status status = function(arguments...);
    if (status == nullptr) return;
    const auto message =
        reinterpret_cast<const char* (*)(Status)>(table_[kGetErrorMessage]);  // NOLINT
    throw std::runtime_error(message(status));
  }

 private:
  const Handle* table_ = nullptr;
};

std::vector<float> read_numbers(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<float> numbers(bytes.size() / sizeof(float));
  if (numbers.empty()) throw std::runtime_error(std::string(path) + ": no numbers");
  bytes.copy(reinterpret_cast<char*>(numbers.data()), numbers.size() * sizeof(float));
  return numbers;
}

Handle make_session(const Api& api, const char* model, int threads, int level) {
  Handle environment = nullptr;
  Handle options = nullptr;
  Handle session = nullptr;
  api.call(kCreateEnv, kWarning, "start", &environment);
  api.call(kCreateSessionOptions, &options);
  api.call(kSetIntraOpNumThreads, options, threads);
  api.call(kSetSessionGraphOptimizationLevel, options, level);
  api.call(kCreateSession, environment, model, options, &session);
  return session;
}

Handle make_tensor(const Api& api, std::vector<float>& numbers) {
  const auto side =
      static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(numbers.size()) / 3)));
  const std::array<std::int64_t, 4> shape{1, 3, side, side};
  Handle memory = nullptr;
  Handle tensor = nullptr;
  api.call(kCreateCpuMemoryInfo, kArenaAllocator, kDefaultMemory, &memory);
  api.call(kCreateTensorWithDataAsOrtValue, memory, numbers.data(), numbers.size() * sizeof(float),
           shape.data(), shape.size(), kFloat, &tensor);
  return tensor;
}

void print_logits(const Api& api, Handle tensor) {
  Handle shape = nullptr;
  std::size_t count = 0;
  float* numbers = nullptr;
  api.call(kGetTensorTypeAndShape, tensor, &shape);
  api.call(kGetTensorShapeElementCount, shape, &count);
  api.call(kGetTensorMutableData, tensor, &numbers);
  for (std::size_t i = 0; i < count; ++i) {
    std::printf("%s%.9g", i == 0 ? "" : " ", static_cast<double>(numbers[i]));
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: onnxruntime_start LIBRARY MODEL INPUT THREADS LEVEL\n");
    return 2;
  }
  try {
    const Api api(argv[1]);
    const Handle session = make_session(api, argv[2], std::atoi(argv[4]), std::atoi(argv[5]));
    std::vector<float> numbers = read_numbers(argv[3]);
    const Handle input = make_tensor(api, numbers);
    Handle output = nullptr;
    const char* const input_name = "x";
    const char* const output_name = "logits";
    api.call(kRun, session, Handle{nullptr}, &input_name, &input, std::size_t{1}, &output_name,
             std::size_t{1}, &output);
    print_logits(api, output);
    std::fflush(stdout);
    // The answer is out: what an orderly end would cost is not asked, so none is made.
    std::_Exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "onnxruntime_start: %s\n", error.what());
    return 1;
  }
}
