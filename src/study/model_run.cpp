#include "study/model_run.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "study/ablate.h"
#include "study/quality.h"
#include "study/scan.h"
#include "study/speed.h"
#include "study/thumbnails.h"
#include "study/verdict.h"

namespace assay::study {
namespace {

constexpr std::size_t kMostChanged = 24;
constexpr const char* kNotTimedYet = "not timed yet";

quant::ImageSet image_set(const OpenModel& model, const Images& images) {
  return {images.rgb, images.count(), bundle::lower_options(model.wide, {}, 1).normalization};
}

quant::RunOptions run_options(int threads, Progress& bar, const std::function<bool()>& stop) {
  quant::RunOptions options;
  options.threads = threads;
  options.tick = [&bar, stop] {
    bar.advance();
    if (stop && stop()) throw StudyStopped();
  };
  return options;
}

/// The file's text where the recipe is shipped or written; else what says the same.
std::string recipe_text(const quant::Recipe& recipe) {
  for (const quant::BuiltinRecipe& builtin : quant::builtin_recipes())
    if (builtin.name == recipe.name && quant::find_recipe(recipe.name) == recipe)
      return std::string(builtin.text);
  return quant::to_toml(recipe);
}

/// What stands in an unfinished record for a variant that later parts fill in: parts before them,
/// such as searches, name it.
Variant not_run_yet(const VariantSpec& spec) {
  Variant variant;
  variant.name = spec.name;
  variant.quality.images = 1;
  variant.speed_reason = kNotTimedYet;
  return variant;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  write_file(path, text);
}

}  // namespace

ModelRun::ModelRun(const Spec& spec, const ModelSpec& model, const RunStudyOptions& options,
                   const Split& split, StudyState& state)
    : spec_(spec),
      options_(options),
      split_(split),
      state_(state),
      model_(open_model(spec, model)) {}

Model& ModelRun::record() {
  auto& models = state_.study.models;
  const auto found = std::ranges::find(models, model_.spec.name, &Model::name);
  if (found != models.end()) return *found;
  Model model;
  model.name = model_.spec.name;
  model.architecture = model_.checkpoint.config.architecture;
  model.checkpoint = model_.spec.checkpoint;
  model.checkpoint_sha256 = weights_sha256(model_.checkpoint);
  model.reference.kind = model_.spec.reference.empty() ? "cpu fp32" : "file";
  model.reference.file = model_.spec.reference;
  if (!model_.spec.reference.empty())
    model.reference.sha256 = data_sha256(spec_.resolve(model_.spec.reference).string());
  for (const VariantSpec& variant : spec_.variants) model.variants.push_back(not_run_yet(variant));
  return models.emplace_back(std::move(model));
}

std::string ModelRun::key(const std::string& part) const { return model_.spec.name + "/" + part; }

void ModelRun::stop_if_asked() const {
  if (options_.stop && options_.stop()) throw StudyStopped();
}

int ModelRun::threads() const { return options_.threads; }

void ModelRun::calibrate_part() {
  const std::string file = model_.spec.name + ".calibration.json";
  state_.part(key("calibration"), [&] {
    const quant::Calibration made = calibrate(model_, spec_.calibration, threads(), options_.stop);
    quant::write_calibration(made, options_.output / file);
    record().calibration = {file, made.source.images, made.source.observers};
  });
  calibration_ = quant::read_calibration(options_.output / file);
}

void ModelRun::search_parts() {
  for (const VariantSpec& variant : spec_.variants)
    if (variant.search) state_.part(key("search/" + variant.name), [&] { search_part(variant); });
}

void ModelRun::search_part(const VariantSpec& variant) {
  const auto from = named_recipe(spec_, variant.search->from);
  if (!from)
    fail(ErrorKind::bad_input, "variant '{}': a search that starts from fp32 has nothing to do",
         variant.name);
  const Images images =
      load_images(model_.source, spread(split_.calibration, variant.search->images), threads());
  Progress bar(model_.spec.name + " search", 0);
  const quant::SearchResult found = quant::search(
      *model_.wide.graph, *from, calibration_, image_set(model_, images),
      {variant.search->sqnr_db, variant.search->gain_db, variant.search->keep_multiply_adds},
      run_options(threads(), bar, options_.stop));
  write_text(options_.output / (model_.spec.name + "." + variant.name + ".toml"),
             quant::to_toml(found.recipe));
  Search record_of{variant.name, found.budget_db, images.count(), {}};
  for (const quant::SearchStep& step : found.steps)
    record_of.steps.push_back({step.layer, step.change, step.sqnr_db});
  record_of.steps.push_back(
      {"",
       fmt::format("{}: {:.1f}% of the narrow multiply-adds of {} stay narrow",
                   found.met ? "the budget is met" : "the budget is not met", 100 * found.kept,
                   from->name),
       found.sqnr_db});
  record().searches.push_back(std::move(record_of));
}

std::optional<quant::Recipe> ModelRun::recipe_of(const VariantSpec& variant) const {
  if (!variant.search) return named_recipe(spec_, variant.recipe);
  return quant::find_recipe(
      (options_.output / (model_.spec.name + "." + variant.name + ".toml")).string());
}

std::string ModelRun::write_recipe(const quant::Recipe& recipe, const VariantSpec& variant) const {
  if (variant.search) return model_.spec.name + "." + variant.name + ".toml";
  const std::string file = "recipes/" + recipe.name + ".toml";
  write_text(options_.output / file, recipe_text(recipe));
  return file;
}

void ModelRun::build_variants() {
  for (const VariantSpec& variant : spec_.variants)
    builds_.push_back(build_variant(model_.wide, variant, recipe_of(variant), calibration_));
}

void ModelRun::held_out_part(const std::vector<Classifier>& classifiers) {
  std::vector<std::string> names;
  for (const VariantSpec& variant : spec_.variants) names.push_back(variant.name);
  logits_ =
      std::make_unique<HeldOutLogits>(state_.folder() / model_.spec.name, names, model_.classes());
  Progress bar(model_.spec.name + " held out", split_.held_out.size());
  bar.advance(logits_->images());
  run_held_out(model_.source, split_.held_out, classifiers, threads(), *logits_,
               [&](std::size_t images) {
                 bar.advance(images);
                 stop_if_asked();
               });
  reference_ = reference_logits(spec_, model_, split_.held_out, logits_->labels(),
                                logits_->logits(std::string(kFp32)));
  record().reference.top1 = top1(reference_, logits_->labels(), model_.classes());
}

void ModelRun::variants_part(const std::vector<Classifier>& classifiers) {
  state_.part(key("variants"), [&] {
    std::vector<Variant> variants;
    for (std::size_t i = 0; i < builds_.size(); ++i) {
      Variant variant = describe_variant(builds_[i], classifiers[i], threads(),
                                         state_.folder() / "scratch.assay");
      if (builds_[i].recipe)
        variant.recipe_file = write_recipe(*builds_[i].recipe, builds_[i].spec);
      if (variant.speed_reason.empty()) variant.speed_reason = kNotTimedYet;
      variant.quality = variant_quality(spec_, *logits_, reference_, variant.name);
      Changes changed =
          changes({logits_->logits(i), reference_, {}, logits_->labels(), model_.classes()},
                  split_.held_out, kMostChanged);
      variant.changed = std::move(changed.worst);
      variant.changed_count = changed.count;
      variants.push_back(std::move(variant));
    }
    add_thumbnails(variants);
    record().variants = std::move(variants);
  });
}

void ModelRun::add_thumbnails(std::vector<Variant>& variants) const {
  std::vector<std::uint64_t> positions;
  for (const Variant& variant : variants)
    for (const ChangedImage& changed : variant.changed) positions.push_back(changed.image);
  const auto pictures = thumbnails(model_.source, positions);
  for (Variant& variant : variants)
    for (ChangedImage& changed : variant.changed) changed.thumbnail = pictures.at(changed.image);
}

void ModelRun::ablation_parts() {
  const AblationSpec& ablation = spec_.ablation;
  const auto positions = spread(split_.held_out, ablation.images);
  const Images images = load_images(model_.source, positions, threads());
  std::vector<float> reference;
  for (const std::uint64_t position : positions) {
    const auto at = std::ranges::lower_bound(split_.held_out, position) - split_.held_out.begin();
    const auto row =
        std::span(reference_)
            .subspan(static_cast<std::size_t>(at) * model_.classes(), model_.classes());
    reference.insert(reference.end(), row.begin(), row.end());
  }
  Progress bar(model_.spec.name + " ablations", 0);
  const AblationInput input{*model_.wide.graph, calibration_, image_set(model_, images), reference,
                            run_options(threads(), bar, options_.stop)};
  const auto append = [](auto& to, auto made) {
    to.insert(to.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  };
  for (const VariantBuild& build : builds_) {
    const std::string& name = build.spec.name;
    const auto wanted = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, name) != names.end();
    };
    if (wanted(ablation.variants))
      state_.part(key("ablations/" + name),
                  [&] { append(record().ablations, ablate_operands(input, name, *build.recipe)); });
    if (wanted(ablation.calibrators))
      state_.part(key("calibrators/" + name), [&] {
        const std::vector<std::string> observers =
            ablation.observers.empty() ? calibration_.source.observers : ablation.observers;
        append(record().calibrators, ablate_observers(input, name, *build.recipe, observers));
      });
    if (wanted(ablation.sensitivity))
      state_.part(key("sensitivity/" + name),
                  [&] { append(record().sensitivity, ablate_layers(input, name, *build.recipe)); });
  }
}

void ModelRun::scan_part(const std::vector<Classifier>& classifiers) {
  state_.part(key("scan"), [&] {
    const Images images =
        load_images(model_.source, spread(split_.held_out, spec_.ablation.images), threads());
    const Magnitudes magnitudes = trace_magnitudes(model_.wide, images, threads());
    for (std::size_t i = 0; i < builds_.size(); ++i) {
      stop_if_asked();
      record().variants[i].nonfinite = {nonfinite_images(logits_->logits(i), model_.classes()),
                                        run_stress(classifiers[i]),
                                        against_formats(builds_[i], magnitudes)};
    }
  });
}

void ModelRun::speed_part() {
  state_.part(key("speed"), [&] {
    std::vector<Variant>& variants = record().variants;
    for (Variant& variant : variants)
      if (variant.speed_reason == kNotTimedYet) variant.speed_reason.clear();
    Progress bar(model_.spec.name + " speed", speed_rounds(spec_.speed));
    measure_speed(builds_, model_.source, split_.held_out, spec_.speed, threads(), variants, [&] {
      bar.advance();
      stop_if_asked();
    });
  });
}

void ModelRun::judge() {
  Model& model = record();
  for (Variant& variant : model.variants)
    variant.verdict = verdict(variant, model.variants.front(), model.reference, spec_.thresholds);
}

void ModelRun::keep_samples(Samples& samples) const {
  ModelSamples& kept = samples[model_.spec.name];
  kept.positions = spread(split_.held_out, kSampleImages);
  for (std::size_t v = 0; v < builds_.size(); ++v) {
    std::vector<float>& numbers = kept.logits[builds_[v].spec.name];
    for (const std::uint64_t position : kept.positions) {
      const auto at = std::ranges::lower_bound(split_.held_out, position) - split_.held_out.begin();
      const auto row = logits_->logits(v).subspan(static_cast<std::size_t>(at) * model_.classes(),
                                                  model_.classes());
      numbers.insert(numbers.end(), row.begin(), row.end());
    }
  }
}

void ModelRun::run(Samples& samples) {
  record();
  calibrate_part();
  search_parts();
  build_variants();
  {
    std::vector<Classifier> classifiers;
    for (const VariantBuild& build : builds_)
      classifiers.push_back(load_variant(build, threads(), bulk_batch(threads())));
    held_out_part(classifiers);
    variants_part(classifiers);
    scan_part(classifiers);
  }
  ablation_parts();
  speed_part();
  judge();
  keep_samples(samples);
}

}  // namespace assay::study
