#include "study/run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "assay/assay.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/progress.h"
#include "pipeline/reference_logits.h"
#include "study/build.h"
#include "study/machine_facts.h"
#include "study/model_run.h"
#include "study/not_measured.h"
#include "study/speed.h"

namespace assay::study {
namespace {

constexpr const char* kStateFolder = "state";
/// Of the build, which is told it; empty where it was not.
constexpr std::string_view kCommit = ASSAY_COMMIT;

std::string sha256_of(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

/// Whether study.json is a record, if only one that another version wrote.
bool holds_record(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "study.json";
  if (!std::filesystem::exists(file)) return false;
  try {
    read_study(file);
    return true;
  } catch (const Error& error) {
    return error.kind() == ErrorKind::unsupported;
  }
}

/// A folder of a study that is not finished, or nothing yet. Over a finished one nothing is
/// written: what the new one lacks would stay, and what others rely on would change under them.
void check_output(const std::filesystem::path& folder) {
  std::error_code none;
  if (!std::filesystem::exists(folder, none)) return;
  if (!std::filesystem::is_directory(folder))
    fail(ErrorKind::bad_input, "-o {}: is no folder", folder.string());
  if (std::filesystem::exists(folder / kStateFolder)) return;
  if (holds_record(folder))
    fail(
        ErrorKind::bad_input,
        "-o {}: holds a finished study: 'assay study --verify {}' runs it again and compares; name "
        "another folder, or remove this one, to make it anew",
        folder.string(), folder.string());
  if (!std::filesystem::is_empty(folder))
    fail(ErrorKind::bad_input,
         "-o {}: holds something that is no study; name a folder that is new or empty",
         folder.string());
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    fail(ErrorKind::bad_input, "-o {}: cannot make the folder: {}", folder.string(),
         error.message());
}

/// What would otherwise be found missing only after hours.
void check_inputs(const Spec& spec) {
  check_recipes(spec);
  for (const ModelSpec& model : spec.models) {
    if (model.reference.empty()) continue;
    const std::size_t classes = open_model(spec, model).classes();
    static_cast<void>(
        pipeline::ReferenceLogits(spec.resolve(model.reference), static_cast<int>(classes)));
  }
}

/// An image that can't be read would otherwise end the study once calibration or hours of searches
/// are done.
void check_images(const DataSource& source, const Split& split, const RunStudyOptions& options) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::uint64_t> positions;
  std::ranges::merge(split.calibration, split.held_out, std::back_inserter(positions));
  Progress bar("images", positions.size());
  const auto bad = bad_images(source, positions, options.threads, [&](std::size_t images) {
    bar.advance(images);
    if (options.stop && options.stop()) throw StudyStopped();
  });
  if (bad.empty()) return;
  std::string text;
  for (const BadImage& image : std::span(bad).first(std::min(bad.size(), kNamed))) {
    const bool calibrates = std::ranges::binary_search(split.calibration, image.position);
    text += fmt::format("; image {} of [{}]: {}", image.position,
                        calibrates ? "calibration" : "held_out", image.message);
  }
  if (bad.size() > kNamed) text += "; …";
  fail(ErrorKind::bad_input,
       "{}: {} of the {} images that the study selects can't be read, and it is of all its images "
       "or of none{}. Mend them, take them out of the data, or select others (stride, offset, "
       "limit)",
       source.path, bad.size(), positions.size(), text);
}

/// What a variant's recipe says now: its file may change between two runs.
std::string recipe_text(const Spec& spec, const VariantSpec& variant) {
  const auto recipe = named_recipe(spec, variant.search ? variant.search->from : variant.recipe);
  return recipe ? quant::to_toml(*recipe) : "";
}

/// Everything that results depend on.
std::string identity(const Spec& spec, const Study& study) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n", spec.text, study.data.sha256, study.assay,
                                 study.machine.isa, study.machine.threads);
  for (const ModelSpec& model : spec.models)
    text += weights_sha256(checkpoint::open(spec.resolve(model.checkpoint))) + "\n";
  for (const ModelSpec& model : spec.models)
    if (!model.reference.empty())
      text += data_sha256(spec.resolve(model.reference).string()) + "\n";
  for (const VariantSpec& variant : spec.variants) text += recipe_text(spec, variant) + "\n";
  return sha256_of(text);
}

Selection selection(const SelectionSpec& spec, std::size_t count, std::uint64_t excluded) {
  return {spec.stride, spec.offset, spec.limit, count, excluded};
}

/// What is known before anything runs.
Study begin(const Spec& spec, const RunStudyOptions& options, const Split& split,
            std::uint64_t samples, const DataSource& source) {
  Study study;
  study.name = spec.name;
  study.title = spec.title;
  study.question = spec.question;
  study.created = today();
  study.assay = version();
  if (!kCommit.empty()) study.git = kCommit;
  std::error_code unrelated;
  study.spec = {
      spec.text, sha256_of(spec.text),
      std::filesystem::relative(spec.folder.empty() ? "." : spec.folder, options.output, unrelated)
          .generic_string()};
  study.machine = machine_facts(options.threads);
  study.data.path = spec.data;
  study.data.sha256 = data_sha256(source.path);
  study.data.samples = samples;
  study.data.calibration = selection(spec.calibration, split.calibration.size(), 0);
  study.data.held_out = selection(spec.held_out, split.held_out.size(), split.excluded);
  study.data.disjoint = disjoint(split.calibration, split.held_out);
  study.data.ablation_images = std::min<std::uint64_t>(spec.ablation.images, split.held_out.size());
  study.data.classes = source.labels;
  study.thresholds = spec.thresholds;
  study.measuring = measuring(spec.speed);
  study.hypotheses = spec.hypotheses;
  study.revisit = spec.revisit;
  return study;
}

}  // namespace

std::optional<Study> finished_study(const Spec& spec, const RunStudyOptions& options) {
  const std::filesystem::path& folder = options.output;
  const std::filesystem::path file = folder / "study.json";
  if (!std::filesystem::exists(file) || std::filesystem::exists(folder / kStateFolder)) return {};
  Study study = read_study(file);
  if (study.spec.sha256 != sha256_of(spec.text))
    fail(ErrorKind::bad_input,
         "-o {}: holds a finished study, '{}', of another specification: there is nothing to go on "
         "with; name another folder",
         folder.string(), study.name);
  if (options.threads > 0 && std::cmp_not_equal(options.threads, study.machine.threads))
    fail(ErrorKind::bad_input,
         "-o {}: holds a finished study that was run with {} threads, and {} are asked for: there "
         "is nothing to go on with; name another folder",
         folder.string(), study.machine.threads, options.threads);
  return study;
}

Study run_study(const Spec& spec, const RunStudyOptions& given) {
  RunStudyOptions options = given;
  if (options.threads == 0) options.threads = spec.threads;
  check_output(options.output);
  check_inputs(spec);
  const DataSource source = open_model(spec, spec.models.front()).source;
  const std::uint64_t samples = count_samples(source);
  const Split parts = split(samples, spec.calibration, spec.held_out);
  make_folder(options.output);
  Study beginning = begin(spec, options, parts, samples, source);
  if (!beginning.data.disjoint)
    fail(ErrorKind::internal, "calibration and held-out images are not disjoint");
  StudyState state(options.output / kStateFolder, identity(spec, beginning), options.resume);
  if (!state.done("begin")) check_images(source, parts, options);
  state.part("begin", [&] { state.study = std::move(beginning); });
  Samples kept;
  for (const ModelSpec& model : spec.models) ModelRun(spec, model, options, parts, state).run(kept);
  write_samples(kept, options.output / "samples.json");
  state.study.not_measured = not_measured(spec, state.study);
  write_study(state.study, options.output / "study.json");
  state.remove();
  return state.study;
}

}  // namespace assay::study
