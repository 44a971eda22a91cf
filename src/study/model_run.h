#pragma once
/// One model of a study, part by part.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/build.h"
#include "study/held_out.h"
#include "study/images.h"
#include "study/run.h"
#include "study/samples.h"
#include "study/split.h"
#include "study/state.h"

namespace assay::study {

/// A checkpoint at fp32 and what its data are to it: what running and verifying begin with.
struct OpenModel {
  ModelSpec spec;
  checkpoint::Checkpoint checkpoint;
  bundle::Bundle wide;
  DataSource source;
  [[nodiscard]] std::size_t classes() const { return wide.labels.size(); }
};
OpenModel open_model(const Spec& spec, const ModelSpec& model);

/// SHA-256 of the checkpoint's weights; of shards that of the lines "SHA-256  NAME".
std::string weights_sha256(const checkpoint::Checkpoint& checkpoint);

/// By all observers. Throws bad_input where an image fails.
quant::Calibration calibrate(const OpenModel& model, const SelectionSpec& selection, int threads,
                             const std::function<bool()>& stop);

/// The logits that everything is compared with, for the images at `positions`: the file's that the
/// spec names, else `fp32`.
std::vector<float> reference_logits(const Spec& spec, const OpenModel& model,
                                    std::span<const std::uint64_t> positions,
                                    std::span<const int> labels, std::span<const float> fp32);

/// The variants' quality, all from logits; variants come in the spec's order.
Quality variant_quality(const Spec& spec, const HeldOutLogits& logits,
                        std::span<const float> reference, const std::string& variant);

/// Largest batch of the classifiers that run many images: several a thread.
int bulk_batch(int threads);

class ModelRun {
 public:
  ModelRun(const Spec& spec, const ModelSpec& model, const RunStudyOptions& options,
           const Split& split, StudyState& state);

  /// Runs all parts that are not done, and fills in this model of the state's study.
  void run(Samples& samples);

 private:
  Model& record();
  std::string key(const std::string& part) const;
  void stop_if_asked() const;
  [[nodiscard]] int threads() const;

  void calibrate_part();
  void search_parts();
  void search_part(const VariantSpec& variant);
  std::optional<quant::Recipe> recipe_of(const VariantSpec& variant) const;
  std::string write_recipe(const quant::Recipe& recipe, const VariantSpec& variant) const;
  void build_variants();
  void held_out_part(const std::vector<Classifier>& classifiers);
  void variants_part(const std::vector<Classifier>& classifiers);
  void add_thumbnails(std::vector<Variant>& variants) const;
  void ablation_parts();
  void scan_part(const std::vector<Classifier>& classifiers);
  void speed_part();
  void judge();
  void keep_samples(Samples& samples) const;

  const Spec& spec_;
  const RunStudyOptions& options_;
  const Split& split_;
  StudyState& state_;
  OpenModel model_;
  quant::Calibration calibration_;
  std::vector<VariantBuild> builds_;
  std::unique_ptr<HeldOutLogits> logits_;
  std::vector<float> reference_;
};

}  // namespace assay::study
