#pragma once
/// What CUDA hands out, owned: each is freed once, by whoever holds it last.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace assay::backend::cuda {

/// Memory of the device in use when this is made, zeroed.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  /// Holds a copy of `bytes`.
  explicit DeviceBuffer(std::span<const std::byte> bytes);

  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* pointer) const { cudaFree(pointer); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// Memory of the host that the device copies from and to without a detour.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* pointer) const { cudaFreeHost(pointer); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// A handle that `kDestroy` gives back.
template <typename Handle, cudaError_t (*kDestroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr) kDestroy(handle_);
  }
  [[nodiscard]] Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

/// A stream that waits for nothing on the default one.
Stream make_stream();
/// An event that keeps the time.
Event make_event();
/// Milliseconds between two events that have happened.
float milliseconds(const Event& from, const Event& to);

/// What `work` puts on the stream, recorded instead of done.
GraphExec capture(const Stream& stream, const std::function<void()>& work);

}  // namespace assay::backend::cuda
