#include <array>

#include "backend/cuda/kernels/inverted.cuh"
#include "backend/cuda/kernels/inverted.h"

namespace assay::backend::cuda {
namespace {

extern __shared__ __align__(128) std::byte dynamic_shared[];

template <int kStride, int kWidth, int kHeight, int kResident>
__global__ void __launch_bounds__(kInvertedThreads, kResident)
    inverted_kernel(const __grid_constant__ InvertedLaunch launch) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  Gate gate;
  InvertedTile<kStride, kWidth, kHeight, kResident>(launch, dynamic_shared).run(gate);
}

using Kernel = void (*)(InvertedLaunch);

template <int kStride, int kResident>
Kernel kernel_for(const InvertedTiling& tiling) {
  if (tiling.width == 4) return inverted_kernel<kStride, 4, 4, kResident>;
  if (tiling.height == 4) return inverted_kernel<kStride, 8, 4, kResident>;
  return tiling.height == 8 ? inverted_kernel<kStride, 8, 8, kResident>
                            : inverted_kernel<kStride, 8, 16, kResident>;
}

Kernel kernel_for(const InvertedTiling& tiling, int stride, int resident) {
  if (stride == 1) return resident == 1 ? kernel_for<1, 1>(tiling) : kernel_for<1, 2>(tiling);
  return resident == 1 ? kernel_for<2, 1>(tiling) : kernel_for<2, 2>(tiling);
}

cudaError_t launch_tiles(const Inverted& step, const InvertedTiling& tiling, int batch,
                         bool overlap, cudaStream_t stream) {
  InvertedLaunch launch;
  launch.step = step;
  launch.layout = group_layout(step.channels, step.out_channels);
  launch.shared = inverted_shared(step, tiling);
  launch.split = tiling.split;
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned count = 0;
  if (overlap) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (tiling.split > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {static_cast<unsigned>(tiling.split), 1, 1};
  }
  cudaLaunchConfig_t config{};
  config.gridDim =
      dim3(static_cast<unsigned>(tiles_across(step, tiling) * tiling.split),
           static_cast<unsigned>(tiles_down(step, tiling)), static_cast<unsigned>(batch));
  config.blockDim = dim3(kInvertedThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared.bytes);
  config.stream = stream;
  config.attrs = attributes.data();
  config.numAttrs = count;
  const int resident = inverted_resident(step, tiling, batch);
  return cudaLaunchKernelEx(&config, kernel_for(tiling, step.stride, resident), launch);
}

}  // namespace

cudaError_t launch_inverted(const Inverted& step, int batch, bool overlap, cudaStream_t stream) {
  return launch_tiles(step, tiling_for(step, batch), batch, overlap, stream);
}

cudaError_t prepare_inverted_kernels() {
  for (const InvertedTiling& tiling : kTileSizes) {
    for (const int stride : {1, 2}) {
      for (const int resident : {1, 2}) {
        const cudaError_t error =
            cudaFuncSetAttribute(kernel_for(tiling, stride, resident),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, kMostInvertedBytes);
        if (error != cudaSuccess) return error;
      }
    }
  }
  return cudaSuccess;
}

}  // namespace assay::backend::cuda
