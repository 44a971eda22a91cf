// Level 3: what was measured on a machine, kept in the bundle and found again there.
#include <algorithm>

#include "backend/cpu/isa.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/thread_pool.h"
#include "bundle/bundle.h"

namespace assay::bundle {
namespace {

constexpr int kTunedLevel = 3;

/// An entry for this machine, without tactics.
Tuning for_this_machine(int threads) {
  return {cpu_model(),
          std::string(backend::cpu::name(backend::cpu::active_isa())),
          threads > 0 ? threads : available_cores(),
          {}};
}

bool same_machine(const Tuning& a, const Tuning& b) {
  return a.cpu == b.cpu && a.isa == b.isa && a.threads == b.threads;
}

backend::LowerOptions plain_options(const Bundle& bundle, int threads) {
  backend::LowerOptions options;
  options.optimization_level = bundle.optimization_level;
  options.max_batch = bundle.max_batch;
  options.threads = threads;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    options.normalization.mean[channel] = static_cast<float>(bundle.transform.mean[channel]);
    options.normalization.std[channel] = static_cast<float>(bundle.transform.std[channel]);
  }
  return options;
}

}  // namespace

const Tuning* tuning_here(const Bundle& bundle, int threads) {
  const Tuning here = for_this_machine(threads);
  const auto found = std::ranges::find_if(
      bundle.tunings, [&](const Tuning& stored) { return same_machine(stored, here); });
  return found == bundle.tunings.end() ? nullptr : &*found;
}

backend::LowerOptions lower_options(const Bundle& bundle, const backend::Target& target,
                                    int threads) {
  backend::LowerOptions options = plain_options(bundle, threads);
  if (bundle.optimization_level != kTunedLevel || target.backend != "cpu") return options;
  if (const Tuning* const tuning = tuning_here(bundle, threads)) options.tactics = tuning->tactics;
  return options;
}

backend::Tuned tune(Bundle& bundle, int threads, const backend::TuneOptions& options) {
  if (bundle.optimization_level == 0) {
    fail(ErrorKind::bad_input,
         "a bundle of optimization level 0 has no fused steps to tune: build it with --opt-level 1 "
         "or 3");
  }
  if (threads > available_cores()) {
    fail(ErrorKind::bad_input,
         "tuning for {} threads, but this process may use {} cores: tune where they are", threads,
         available_cores());
  }
  const backend::Tuned tuned =
      backend::tune(bundle.graph, {"cpu", 0}, plain_options(bundle, threads), options);
  Tuning entry = for_this_machine(threads);
  entry.tactics = tuned.tactics;
  std::erase_if(bundle.tunings, [&](const Tuning& stored) { return same_machine(stored, entry); });
  bundle.tunings.push_back(std::move(entry));
  bundle.optimization_level = kTunedLevel;
  return tuned;
}

}  // namespace assay::bundle
