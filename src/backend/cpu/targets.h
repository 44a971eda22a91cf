#pragma once
/// The instruction sets that kernels are compiled for: AVX-512 (Skylake-X level), AVX2 with FMA,
/// and the compiler's baseline. Include before anything of Highway's; each more would cost build
/// time and library size without a kernel that gains by it.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
