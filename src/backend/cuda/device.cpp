#include "backend/cuda/device.h"

#include <optional>

#include "backend/cuda/cuda.h"
#include "backend/cuda/kernels/launch.h"
#include "base/error.h"

namespace assay::backend::cuda {
namespace {

/// The kernels are compiled for this compute capability and its own features.
constexpr int kMajor = 9;
constexpr int kMinor = 0;

/// Why the driver shows no GPU of number `index`.
std::optional<std::string> why_missing(int index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();  // it would be reported again by the next call
    return fmt::format("no CUDA device: {}", cudaGetErrorString(status));
  }
  if (index >= count) {
    return fmt::format("no CUDA device: cuda:{} is asked for, this machine has {}", index, count);
  }
  return std::nullopt;
}

cudaDeviceProp properties_of(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking what the device is");
  return properties;
}

}  // namespace

std::optional<std::string> why_unavailable(int device) {
  if (auto missing = why_missing(device)) return missing;
  const cudaDeviceProp properties = properties_of(device);
  if (properties.major == kMajor && properties.minor == kMinor) return std::nullopt;
  return fmt::format(
      "cuda:{} is '{}' (compute capability {}.{}); this build runs on {}.{} (H100, H200) only: use "
      "cpu",
      device, properties.name, properties.major, properties.minor, kMajor, kMinor);
}

Device open_device(int index) {
  if (const auto why = why_unavailable(index)) fail(ErrorKind::unsupported, "{}", *why);
  const cudaDeviceProp properties = properties_of(index);
  Device device{index, properties.name, properties.multiProcessorCount};
  use(device);
  check(prepare_kernels(), "preparing the kernels");
  return device;
}

void use(const Device& device) { check(cudaSetDevice(device.index), "choosing the device"); }

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  const bool memory = status == cudaErrorMemoryAllocation;
  fail(memory ? ErrorKind::out_of_memory : ErrorKind::internal, "CUDA: {} failed: {}{}", what,
       cudaGetErrorString(status), memory ? "; a smaller largest batch needs less" : "");
}

}  // namespace assay::backend::cuda
