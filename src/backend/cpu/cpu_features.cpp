#include "backend/cpu/cpu_features.h"

#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace assay::backend::cpu {
namespace {

#if defined(__x86_64__) && defined(__linux__)

constexpr bool bit(std::uint32_t word, int index) { return ((word >> index) & 1U) != 0; }

/// The register file's parts that the operating system saves for a process (XCR0).
std::uint64_t saved_state() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

/// Linux gives a process the 8 KiB of tile registers only when it asks.
bool allowed_tiles() {
  constexpr std::uint64_t kTileState = std::uint64_t{3} << 17;  // configuration and data
  if ((saved_state() & kTileState) != kTileState) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuFeatures detect() {
  CpuFeatures features;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !bit(c, 27)) return features;  // OSXSAVE
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return features;
  features.avx512_vnni = bit(c, 11);
  const bool tiles = bit(d, 22) && bit(d, 24) && bit(d, 25);  // AMX_BF16, AMX_TILE, AMX_INT8
  if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) features.avx512_bf16 = bit(a, 5);
  features.amx = tiles && allowed_tiles();
  return features;
}

#else

CpuFeatures detect() { return {}; }

#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace assay::backend::cpu
