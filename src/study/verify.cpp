#include "study/verify.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "assay/assay.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/progress.h"
#include "study/machine_facts.h"
#include "study/model_run.h"
#include "study/readme_numbers.h"
#include "study/run.h"
#include "study/samples.h"
#include "study/speed.h"

namespace assay::study {
namespace {

constexpr std::uint64_t kMaxReadmeBytes = std::uint64_t{1} << 26;

/// Logit by logit, where one that is no number equals another.
bool same_logits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float one, float other) {
    return one == other || (std::isnan(one) && std::isnan(other));
  });
}

class Verifier {
 public:
  Verifier(std::filesystem::path folder, const VerifyOptions& options)
      : folder_(std::move(folder)),
        options_(options),
        study_(read_study(folder_ / "study.json")),
        spec_(parse_spec(study_.spec.text, (folder_ / "study.json").string() + ": spec.text",
                         folder_ / study_.spec.folder)),
        here_(machine_facts(static_cast<int>(study_.machine.threads))) {}

  std::vector<VerifyCheck> run() {
    check_readme();
    check_specification();
    if (options_.sample > 0) samples_ = read_samples(folder_ / "samples.json");
    for (const ModelSpec& model : spec_.models) check_model(model);
    for (const Model& model : study_.models)
      if (std::ranges::find(spec_.models, model.name, &ModelSpec::name) == spec_.models.end())
        report(model.name, Outcome::differs, "the specification in study.json has no such model");
    return std::move(checks_);
  }

 private:
  void report(std::string name, Outcome outcome, std::string detail) {
    checks_.push_back({std::move(name), std::move(detail), outcome});
    if (options_.on_check) options_.on_check(checks_.back());
  }

  /// `holds`, else what a difference means on this machine.
  void judge(std::string name, bool holds, bool same_machine, std::string detail) {
    const Outcome otherwise = same_machine ? Outcome::differs : Outcome::not_judged;
    report(std::move(name), holds ? Outcome::holds : otherwise, std::move(detail));
  }

  void check_readme() {
    const auto path = folder_ / "README.md";
    if (!std::filesystem::exists(path)) {
      report("README.md", Outcome::not_judged, "there is none");
      return;
    }
    const auto left = unexplained_numbers(read_text(path, kMaxReadmeBytes), to_json(study_));
    std::string detail = "every number is in study.json";
    if (!left.empty())
      detail = fmt::format("line {}: {} is not in study.json ({} such numbers)", left.front().line,
                           left.front().number, left.size());
    report("README.md", left.empty() ? Outcome::holds : Outcome::differs, detail);
  }

  void check_specification() {
    const bool same = sha256_hex(std::as_bytes(std::span(study_.spec.text))) == study_.spec.sha256;
    report("specification", same ? Outcome::holds : Outcome::differs,
           same ? "the recorded one" : "spec.sha256 is not the digest of spec.text");
  }

  [[nodiscard]] int threads() const { return static_cast<int>(study_.machine.threads); }
  [[nodiscard]] bool same_isa() const { return here_.isa == study_.machine.isa; }
  [[nodiscard]] bool same_processor() const {
    return same_isa() && here_.cpu_model == study_.machine.cpu_model;
  }

  std::string isa_note() const {
    return same_isa() ? ""
                      : fmt::format(
                            " (recorded with {}, this is {}: ASSAY_CPU_ISA={} makes them "
                            "comparable)",
                            study_.machine.isa, here_.isa, study_.machine.isa);
  }

  void check_model(const ModelSpec& spec) {
    const auto recorded = std::ranges::find(study_.models, spec.name, &Model::name);
    if (recorded == study_.models.end()) {
      report(spec.name, Outcome::differs, "study.json lacks this model of its specification");
      return;
    }
    if (!check_variants(*recorded)) return;
    if (!recorded->calibration) {
      report(spec.name, Outcome::differs, "study.json names no calibration of it");
      return;
    }
    const OpenModel model = open_model(spec_, spec);
    check_inputs(model, *recorded);
    const quant::Calibration calibration =
        quant::read_calibration(folder_ / recorded->calibration->file);
    if (options_.sample == 0) check_calibration(model, calibration);
    std::vector<VariantBuild> builds;
    for (std::size_t i = 0; i < spec_.variants.size(); ++i)
      builds.push_back(build_variant(model.wide, spec_.variants[i],
                                     recipe_of(recorded->variants[i]), calibration));
    if (options_.sample > 0) {
      check_samples(model, builds);
    } else {
      const std::uint64_t samples = count_samples(model.source);
      if (samples != study_.data.samples) {
        fail(ErrorKind::bad_input, "{}: {} images in the record, {} in {}: it is of other data",
             (folder_ / "study.json").string(), study_.data.samples, samples, model.source.path);
      }
      const Split parts = split(samples, spec_.calibration, spec_.held_out);
      check_quality(model, *recorded, builds, parts);
      check_speed(model, *recorded, builds, parts);
    }
  }

  /// That the record's variants are the specification's: what is compared is found by their order
  /// and names.
  bool check_variants(const Model& recorded) {
    const std::vector<std::string> left = differing_variants(spec_, recorded);
    report(recorded.name + " variants", left.empty() ? Outcome::holds : Outcome::differs,
           left.empty() ? "those of the specification" : fmt::format("{}", fmt::join(left, "; ")));
    return left.empty();
  }

  [[nodiscard]] std::optional<quant::Recipe> recipe_of(const Variant& variant) const {
    if (variant.recipe_file.empty()) return std::nullopt;
    return quant::find_recipe((folder_ / variant.recipe_file).string());
  }

  void check_inputs(const OpenModel& model, const Model& recorded) {
    const bool weights = weights_sha256(model.checkpoint) == recorded.checkpoint_sha256;
    report(recorded.name + " checkpoint", weights ? Outcome::holds : Outcome::differs,
           weights ? "the recorded weights" : "other weights than those recorded");
    const bool data = data_sha256(model.source.path) == study_.data.sha256;
    report(recorded.name + " data", data ? Outcome::holds : Outcome::differs,
           data ? "the recorded images" : "other images than those recorded");
  }

  void check_calibration(const OpenModel& model, const quant::Calibration& recorded) {
    const quant::Calibration made = calibrate(model, spec_.calibration, threads(), options_.stop);
    const bool equal = made == recorded;
    judge(model.spec.name + " calibration", equal, same_isa(),
          equal ? fmt::format("{} operands, all ranges equal", made.operands.size())
                : "other ranges" + isa_note());
  }

  static std::vector<Classifier> load(std::span<const VariantBuild> builds, int threads) {
    std::vector<Classifier> classifiers;
    for (const VariantBuild& build : builds)
      classifiers.push_back(load_variant(build, threads, bulk_batch(threads)));
    return classifiers;
  }

  /// Logits of the images at `positions`, by all variants.
  HeldOutLogits rerun(const OpenModel& model, std::span<const VariantBuild> builds,
                      std::span<const std::uint64_t> positions) {
    std::vector<std::string> names;
    for (const VariantBuild& build : builds) names.push_back(build.spec.name);
    HeldOutLogits logits({}, names, model.classes());
    Progress bar(model.spec.name, positions.size());
    run_held_out(model.source, positions, load(builds, threads()), threads(), logits,
                 [&](std::size_t images) {
                   bar.advance(images);
                   if (options_.stop && options_.stop()) throw StudyStopped();
                 });
    return logits;
  }

  void check_samples(const OpenModel& model, std::span<const VariantBuild> builds) {
    const ModelSamples& kept = samples_[model.spec.name];
    if (options_.sample > kept.positions.size())
      fail(ErrorKind::bad_input, "--sample {}: {} images of {} are kept", options_.sample,
           kept.positions.size(), model.spec.name);
    const HeldOutLogits logits = rerun(model, builds, spread(kept.positions, options_.sample));
    for (const VariantBuild& build : builds) {
      const std::string& name = build.spec.name;
      const auto recorded = kept.logits.find(name);
      const std::size_t numbers = kept.positions.size() * model.classes();
      if (recorded == kept.logits.end() || recorded->second.size() != numbers) {
        report(model.spec.name + " " + name, Outcome::differs, "samples.json lacks its logits");
        continue;
      }
      compare_samples(model, name, logits.logits(name), kept.positions, recorded->second);
    }
  }

  void compare_samples(const OpenModel& model, const std::string& name,
                       std::span<const float> found, std::span<const std::uint64_t> positions,
                       std::span<const float> recorded) {
    const std::vector<std::uint64_t> chosen = spread(positions, options_.sample);
    std::size_t different = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto at = static_cast<std::size_t>(std::ranges::lower_bound(positions, chosen[i]) -
                                               positions.begin());
      const auto before = recorded.subspan(at * model.classes(), model.classes());
      different += same_logits(before, found.subspan(i * model.classes(), model.classes())) ? 0 : 1;
    }
    judge(model.spec.name + " " + name, different == 0, same_isa(),
          different == 0 ? fmt::format("the recorded logits on {} images", chosen.size())
                         : fmt::format("other logits on {} of {} images{}", different,
                                       chosen.size(), isa_note()));
  }

  void check_quality(const OpenModel& model, const Model& recorded,
                     std::span<const VariantBuild> builds, const Split& parts) {
    const HeldOutLogits logits = rerun(model, builds, parts.held_out);
    const std::vector<float> reference = reference_logits(
        spec_, model, parts.held_out, logits.labels(), logits.logits(std::string(kFp32)));
    for (const Variant& variant : recorded.variants) {
      const auto left =
          differing(variant.quality, variant_quality(spec_, logits, reference, variant.name));
      judge(recorded.name + " " + variant.name + " quality", left.empty(), same_isa(),
            left.empty()
                ? fmt::format("equal to the last digit on {} images", variant.quality.images)
                : fmt::format("{}{}", fmt::join(left, "; "), isa_note()));
    }
  }

  void check_speed(const OpenModel& model, const Model& recorded,
                   std::span<const VariantBuild> builds, const Split& parts) {
    std::vector<Variant> found = recorded.variants;
    for (Variant& variant : found)
      if (!variant.speed.empty()) variant.speed_reason.clear();
    Progress bar(recorded.name + " speed", speed_rounds(spec_.speed));
    measure_speed(builds, model.source, parts.held_out, spec_.speed, threads(), found, [&] {
      bar.advance();
      if (options_.stop && options_.stop()) throw StudyStopped();
    });
    for (std::size_t v = 0; v < found.size(); ++v) {
      const std::vector<SpeedRow>& before = recorded.variants[v].speed.batch;
      for (std::size_t i = 0; i < before.size(); ++i)
        if (v > 0 && before[i].ratio_to_fp32) compare_speed(recorded, found[v], before[i], i);
    }
  }

  void compare_speed(const Model& model, const Variant& found, const SpeedRow& before,
                     std::size_t row) {
    const std::string name =
        fmt::format("{} {} {} batch {}", model.name, found.name, before.boundary, before.batch);
    if (row >= found.speed.batch.size() || !found.speed.batch[row].ratio_to_fp32) {
      report(name, Outcome::differs, "could not be timed: " + found.speed_reason);
      return;
    }
    const Estimate& now = *found.speed.batch[row].ratio_to_fp32;
    judge(name, ratio_holds(*before.ratio_to_fp32, now), same_processor(),
          fmt::format("{:.2f}x fp32, recorded {:.2f}x{}", now.value, before.ratio_to_fp32->value,
                      same_processor() ? "" : " on another processor"));
  }

  std::filesystem::path folder_;
  const VerifyOptions& options_;
  Study study_;
  Spec spec_;
  Machine here_;
  Samples samples_;
  std::vector<VerifyCheck> checks_;
};

}  // namespace

std::vector<VerifyCheck> verify_study(const std::filesystem::path& folder,
                                      const VerifyOptions& options) {
  return Verifier(folder, options).run();
}

}  // namespace assay::study
