#pragma once
/// Which share of an instruction a block does, and when it may begin.
#include <cuda_runtime.h>

namespace assay::backend::cuda {

inline constexpr int kThreads = 256;  ///< of every block
inline constexpr int kWarps = kThreads / 32;

/// Tiles `index`, `index + count`, ... of an instruction.
struct Worker {
  int index = 0;
  int count = 1;
};

/// Held closed by the kernels in front. Every kernel opens it, with all threads of the block,
/// before it reads what another instruction wrote and before it writes anything; what it reads of
/// the plan's constants it may fetch before.
class Gate {
 public:
  __device__ void open() {
    if (opened_) return;
    opened_ = true;
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }

 private:
  bool opened_ = false;
};

}  // namespace assay::backend::cuda
