#pragma once
/// The GPU of a plan.
#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

namespace assay::backend::cuda {

struct Device {
  int index = 0;
  std::string name;  ///< "NVIDIA H200"
  int multiprocessors = 0;
};

/// The machine's GPU of number `index`, ready for the kernels of this build. Throws unsupported
/// where there is none, or one that they are not compiled for.
Device open_device(int index);

/// Makes the calls that this thread makes from here on go to `device`.
void use(const Device& device);

/// Throws unless `status` is success: out_of_memory where the device has no more, else internal.
/// `what` was tried: "copying the results".
void check(cudaError_t status, std::string_view what);

}  // namespace assay::backend::cuda
