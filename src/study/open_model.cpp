#include "base/error.h"
#include "base/hash.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "pipeline/calibrate.h"
#include "pipeline/reference_logits.h"
#include "study/model_run.h"
#include "study/quality.h"

namespace assay::study {

OpenModel open_model(const Spec& spec, const ModelSpec& model) {
  OpenModel open{model, checkpoint::open(spec.resolve(model.checkpoint)), {}, {}};
  open.wide = bundle::build(open.checkpoint, {});
  open.source = {spec.resolve(spec.data).string(), open.wide.labels, open.wide.transform};
  return open;
}

std::string weights_sha256(const checkpoint::Checkpoint& checkpoint) {
  std::string lines;
  std::vector<const checkpoint::SourceFile*> weights;
  for (const checkpoint::SourceFile& file : checkpoint.files)
    if (file.name.ends_with(".safetensors")) weights.push_back(&file);
  if (weights.size() == 1) return weights.front()->sha256;
  for (const checkpoint::SourceFile* file : weights)
    lines += fmt::format("{}  {}\n", file->sha256, file->name);
  return sha256_hex(std::as_bytes(std::span(lines)));
}

quant::Calibration calibrate(const OpenModel& model, const SelectionSpec& selection, int threads,
                             const std::function<bool()>& stop) {
  pipeline::CalibrateOptions options;
  options.threads = threads;
  options.selection = {selection.stride, selection.offset, selection.limit};
  const auto dataset =
      pipeline::open_dataset(model.source.path, model.source.labels,
                             {.selection = options.selection, .require_labels = false});
  Progress bar(model.spec.name + " calibrate", dataset->size().value_or(0));
  options.progress = [&, before = std::uint64_t{0}](std::uint64_t done, auto) mutable {
    bar.advance(done - before);
    before = done;
    if (stop && stop()) throw StudyStopped();
  };
  pipeline::CalibrateReport report = pipeline::calibrate(model.wide, *dataset, options);
  if (!report.failed.empty())
    fail(ErrorKind::bad_input, "{}: a study is of all its images: {}", model.source.path,
         report.failed.front().message);
  return std::move(report.calibration);
}

std::vector<float> reference_logits(const Spec& spec, const OpenModel& model,
                                    std::span<const std::uint64_t> positions,
                                    std::span<const int> labels, std::span<const float> fp32) {
  if (model.spec.reference.empty()) return {fp32.begin(), fp32.end()};
  const pipeline::ReferenceLogits file(spec.resolve(model.spec.reference),
                                       static_cast<int>(model.classes()));
  std::vector<float> logits;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    file.check_label(positions[i], labels[i]);
    const auto row = file.row(positions[i]);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

Quality variant_quality(const Spec& spec, const HeldOutLogits& logits,
                        std::span<const float> reference, const std::string& variant) {
  Compared compared{logits.logits(variant), reference, {}, logits.labels(), logits.classes()};
  for (const VariantSpec& other : spec.variants)
    if (other.recipe == "fp16") compared.fp16 = logits.logits(other.name);
  return quality(compared);
}

int bulk_batch(int threads) {
  constexpr int kImagesEach = 16;
  return kImagesEach * (threads > 0 ? threads : available_cores());
}

}  // namespace assay::study
