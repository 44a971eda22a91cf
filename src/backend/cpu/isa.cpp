#include "backend/cpu/isa.h"

// The choice of targets comes before anything of Highway's.
// clang-format off
#include "backend/cpu/targets.h"
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "backend/cpu/cpu_features.h"
#include "base/error.h"

namespace assay::backend::cpu {
namespace {

struct Entry {
  Isa isa;
  std::string_view name;
  std::int64_t highway_target;
};

// Priority order: the first that the machine supports is used.
constexpr std::array<Entry, 6> kEntries{{
    {Isa::amx, "amx", HWY_AVX3},
    {Isa::avx512_bf16, "avx512_bf16", HWY_AVX3},
    {Isa::avx512_vnni, "avx512_vnni", HWY_AVX3},
    {Isa::avx512, "avx512", HWY_AVX3},
    {Isa::avx2, "avx2", HWY_AVX2},
    {Isa::portable, "portable", HWY_STATIC_TARGET},
}};

const Entry& entry_of(Isa isa) {
  return *std::find_if(kEntries.begin(), kEntries.end(),
                       [isa](const Entry& entry) { return entry.isa == isa; });
}

/// Whether the machine has what `isa` asks for beyond its Highway target and the sets before it.
bool has_extension(Isa isa) {
  const CpuFeatures& features = cpu_features();
  if (isa >= Isa::avx512_vnni && !features.avx512_vnni) return false;
  if (isa >= Isa::avx512_bf16 && !features.avx512_bf16) return false;
  return isa < Isa::amx || features.amx;
}

std::vector<Isa> isas_among(std::int64_t targets) {
  std::vector<Isa> isas;
  for (const Entry& entry : kEntries) {
    // The baseline is always there, whether or not Highway lists it among what it detected.
    if (entry.isa == Isa::portable || (entry.highway_target & targets) != 0) {
      isas.push_back(entry.isa);
    }
  }
  return isas;
}

std::string names_of(std::span<const Isa> isas) {
  std::string text;
  for (const Isa isa : isas) text += (text.empty() ? "" : ", ") + std::string(name(isa));
  return text;
}

bool contains(std::span<const Isa> isas, Isa isa) {
  return std::find(isas.begin(), isas.end(), isa) != isas.end();
}

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa{Isa::portable};
  return isa;
}

void restrict_highway_to(Isa isa) {
  // Highway's mask of detected targets is left alone; only its choice among them changes, and that
  // is what its dispatch tables read.
  hwy::GetChosenTarget().Update(entry_of(isa).highway_target);
  current() = isa;
}

}  // namespace

std::string_view name(Isa isa) { return entry_of(isa).name; }

std::span<const Isa> built_isas() {
  static const std::vector<Isa> isas = isas_among(HWY_TARGETS);
  return isas;
}

std::span<const Isa> supported_isas() {
  static const std::vector<Isa> isas = [] {
    std::vector<Isa> found = isas_among(HWY_TARGETS & hwy::SupportedTargets());
    std::erase_if(found, [](Isa isa) { return !has_extension(isa); });
    return found;
  }();
  return isas;
}

Isa choose_isa(std::optional<std::string_view> forced, std::span<const Isa> built,
               std::span<const Isa> supported) {
  if (!forced) return supported.front();
  const auto* const entry =
      std::find_if(kEntries.begin(), kEntries.end(),
                   [&](const Entry& candidate) { return candidate.name == *forced; });
  if (entry == kEntries.end()) {
    fail(ErrorKind::bad_input, "ASSAY_CPU_ISA names no instruction set: \"{}\"; known are {}",
         *forced, names_of(built));
  }
  if (!contains(built, entry->isa)) {
    fail(ErrorKind::unsupported, "ASSAY_CPU_ISA={}: this build has no kernels for it; it has {}",
         *forced, names_of(built));
  }
  if (!contains(supported, entry->isa)) {
    fail(ErrorKind::unsupported, "ASSAY_CPU_ISA={}: this machine does not support it; it has {}",
         *forced, names_of(supported));
  }
  return entry->isa;
}

Isa active_isa() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* const variable = std::getenv("ASSAY_CPU_ISA");
    std::optional<std::string_view> forced;
    if (variable != nullptr && *variable != '\0') forced = variable;
    restrict_highway_to(choose_isa(forced, built_isas(), supported_isas()));
  });
  return current();
}

void use_isa(Isa isa) {
  active_isa();
  if (!contains(supported_isas(), isa)) {
    fail(ErrorKind::unsupported, "this machine does not support {}; it has {}", name(isa),
         names_of(supported_isas()));
  }
  restrict_highway_to(isa);
}

}  // namespace assay::backend::cpu
