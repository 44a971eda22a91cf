#pragma once
/// Which instruction set the kernels use: chosen once at start from what the machine supports, or
/// forced by the environment variable ASSAY_CPU_ISA.
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay::backend::cpu {

/// In rising order of preference; each has all of those before it. From `avx512` on fp32 kernels
/// are the same, bit for bit; what the others add is for operands of bf16 and int8.
enum class Isa { portable, avx2, avx512, avx512_vnni, avx512_bf16, amx };

/// "portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx".
std::string_view name(Isa isa);

/// The sets that this build has kernels for, best first.
std::span<const Isa> built_isas();
/// Those of them that this machine supports, best first; never empty.
std::span<const Isa> supported_isas();

/// The choice among `built` and `supported` (both best first): the best, or `forced`. Throws
/// bad_input for a name that is none, unsupported for one that this build lacks or the machine
/// can't run.
Isa choose_isa(std::optional<std::string_view> forced, std::span<const Isa> built,
               std::span<const Isa> supported);

/// The set in use. The first call decides: ASSAY_CPU_ISA where it is set and not empty, else the
/// best. Throws as choose_isa does. Thread-safe.
Isa active_isa();

/// Switches the whole process to `isa`, which must be one of supported_isas(). For tests, which
/// compare the sets with each other: plans lowered before are unusable after, and no kernel may be
/// running.
void use_isa(Isa isa);

}  // namespace assay::backend::cpu
