#include "backend/cpu/kernels/narrow_block.h"

namespace assay::backend::cpu {

NarrowKernels narrow_kernels() {
  NarrowKernels kernels = plain_narrow_kernels();
#ifdef __x86_64__
  const Isa isa = active_isa();
  if (isa >= Isa::avx512_vnni) kernels.int8 = &vnni_block;
  if (isa >= Isa::avx512_bf16) {
    kernels.bf16 = &avx512_bf16_block;
    kernels.to_bf16 = &avx512_to_bf16;
  }
  if (isa >= Isa::amx) {
    kernels.bf16 = &amx_bf16_block;
    kernels.int8 = &amx_int8_block;
    kernels.enter = &amx_enter;
    kernels.leave = &amx_leave;
  }
#endif
  return kernels;
}

}  // namespace assay::backend::cpu
