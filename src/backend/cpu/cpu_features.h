#pragma once
/// What this processor and its operating system offer beyond the targets that Highway knows.
namespace assay::backend::cpu {

struct CpuFeatures {
  bool avx512_vnni = false;  ///< dot products of u8 and s8
  bool avx512_bf16 = false;  ///< dot products of bf16, conversion to it
  bool amx = false;          ///< tile products of both kinds, and leave to use the tiles
};

/// Detected at the first call, which on Linux also asks the kernel to let this process use AMX's
/// tile registers: all of its threads may from then on. Whether registers of 512 bits are usable is
/// not looked at; Highway does that. Thread-safe.
const CpuFeatures& cpu_features();

}  // namespace assay::backend::cpu
