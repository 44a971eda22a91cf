#include "study/not_measured.h"

#include <algorithm>
#include <set>

#include "backend/backend.h"
#include "base/error.h"
#include "quant/quant.h"

namespace assay::study {
namespace {

/// Variants of which some ablation was not run, named together.
std::string without(const Spec& spec, const std::vector<std::string>& with) {
  std::vector<std::string> names;
  for (const VariantSpec& variant : spec.variants)
    if (variant.recipe != kFp32 && std::ranges::find(with, variant.name) == with.end())
      names.push_back(variant.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_without(std::vector<std::string>& list, const char* what, const std::string& variants) {
  if (!variants.empty()) list.push_back(fmt::format("{} of {}.", what, variants));
}

void add_speed(std::vector<std::string>& list, const Study& study) {
  std::map<std::string, std::set<std::string>> by_reason;
  for (const Model& model : study.models)
    for (const Variant& variant : model.variants)
      if (variant.speed.empty()) by_reason[variant.speed_reason].insert(variant.name);
  for (const auto& [reason, variants] : by_reason)
    list.push_back(fmt::format("The speed of {}: {}.", fmt::join(variants, ", "), reason));
}

void add_targets(std::vector<std::string>& list, const Study& study) {
  std::set<std::string> run;
  std::set<std::uint64_t> levels;
  for (const Model& model : study.models)
    for (const Variant& variant : model.variants) {
      run.insert(variant.backend);
      levels.insert(variant.level);
    }
  for (const char* backend : {"cpu", "cuda"})
    if (!run.contains(backend)) list.push_back(fmt::format("The {} backend.", backend));
  list.push_back("Optimization level 3, whose tactics are measured on the machine at hand.");
  list.push_back(fmt::format("Any processor but this one: {}.", study.machine.cpu_model));
}

std::vector<std::string> observers_left_out(const Spec& spec) {
  std::vector<std::string> left;
  if (spec.ablation.observers.empty() || spec.ablation.calibrators.empty()) return left;
  for (const std::string_view observer : quant::observers())
    if (std::ranges::find(spec.ablation.observers, observer) == spec.ablation.observers.end())
      left.emplace_back(observer);
  return left;
}

}  // namespace

std::vector<std::string> not_measured(const Spec& spec, const Study& study) {
  std::vector<std::string> list;
  add_speed(list, study);
  list.push_back(fmt::format("Batch sizes other than {}.", fmt::join(spec.speed.batches, ", ")));
  add_targets(list, study);
  add_without(list, "The shares of weights and activations in the error",
              without(spec, spec.ablation.variants));
  add_without(list, "Other observers for the activations",
              without(spec, spec.ablation.calibrators));
  add_without(list, "The error of each layer alone", without(spec, spec.ablation.sensitivity));
  const std::vector<std::string> observers = observers_left_out(spec);
  if (!observers.empty())
    list.push_back(fmt::format("The observers {}.", fmt::join(observers, ", ")));
  list.push_back("Accuracy on any other data set.");
  list.push_back("Energy, and memory in use while running.");
  return list;
}

}  // namespace assay::study
