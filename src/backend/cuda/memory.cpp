#include "backend/cuda/memory.h"

#include <algorithm>

#include "backend/cuda/device.h"

namespace assay::backend::cuda {
namespace {

using CudaGraph = Owned<cudaGraph_t, cudaGraphDestroy>;

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "allocating memory");
  return memory;
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes) : data_(static_cast<std::byte*>(allocate(bytes))) {
  check(cudaMemset(data_.get(), 0, bytes), "zeroing memory");
}

DeviceBuffer::DeviceBuffer(std::span<const std::byte> bytes)
    : data_(static_cast<std::byte*>(allocate(bytes.size()))) {
  check(cudaMemcpy(data_.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
        "copying to the device");
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, std::max<std::size_t>(bytes, 1)), "allocating pinned memory");
  data_.reset(static_cast<std::byte*>(memory));
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return Stream(stream);
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "making an event");
  return Event(event);
}

float milliseconds(const Event& from, const Event& to) {
  float time = 0;
  check(cudaEventElapsedTime(&time, from.get(), to.get()), "reading the time");
  return time;
}

GraphExec capture(const Stream& stream, const std::function<void()>& work) {
  // Other sessions' threads may allocate meanwhile: what they do is none of this capture's.
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
        "recording a graph");
  cudaGraph_t recorded = nullptr;
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &recorded);
    const CudaGraph dropped(recorded);
    throw;
  }
  check(cudaStreamEndCapture(stream.get(), &recorded), "recording a graph");
  const CudaGraph graph(recorded);
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph.get(), 0), "making a graph ready");
  return GraphExec(exec);
}

}  // namespace assay::backend::cuda
