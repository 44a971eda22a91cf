#pragma once
/// What a study measured, as a value and as study.json: docs/study-format.md says what every field
/// means. Plain data; all the functions are thread-safe.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/statistics.h"

namespace assay::study {

/// A measured figure and its 95% interval. A figure may be infinite or NaN (the SQNR of logits
/// without any noise is infinite); JSON then has the text "Infinity", "-Infinity" or "NaN".
struct Estimate {
  double value = 0;
  Interval interval;
};

struct SpecText {
  std::string text;  ///< the TOML as it was run
  std::string sha256;
  std::string folder;  ///< that its paths are relative to, from the study's folder; may be empty
};

struct Machine {
  std::string cpu_model;
  std::string isa;
  std::uint64_t cores = 1;
  std::uint64_t threads = 1;
  double memory_gb = 0;
  std::string os;
  std::string compiler;
  std::vector<double> load_at_start;  ///< of 1, 5 and 15 minutes; empty where the system has none
};

/// The images at offset, offset + stride, ..., `limit` at most (0: all), less `excluded` of them.
struct Selection {
  std::uint64_t stride = 1;
  std::uint64_t offset = 0;
  std::uint64_t limit = 0;
  std::uint64_t count = 0;     ///< images that were run
  std::uint64_t excluded = 0;  ///< of the held-out selection: left out as calibration has them
};

struct Data {
  std::string path;
  std::string sha256;
  std::uint64_t samples = 0;
  Selection calibration;
  Selection held_out;
  bool disjoint = false;  ///< compared position by position: no image is in both
  std::uint64_t ablation_images = 0;
  std::vector<std::string> classes;  ///< by class index; may be empty
};

/// What the variants are compared with.
struct Reference {
  std::string kind;    ///< "cpu fp32" or "file"
  std::string file;    ///< of kind "file"
  std::string sha256;  ///< of that file
  std::optional<Estimate> top1;
};

struct CalibrationFile {
  std::string file;  ///< relative to the study's folder
  std::uint64_t images = 0;
  std::vector<std::string> observers;
};

struct Size {
  std::uint64_t bundle_bytes = 0;
  std::uint64_t weight_bytes = 0;
};

struct Steps {
  std::uint64_t count = 0;
  std::uint64_t conversions = 0;  ///< steps that only convert formats
};

struct MultiplyAdds {
  double total = 0;
  std::map<std::string, double> by_precision;
  std::map<std::string, double> share;  ///< of total
  /// Fills total and share in from the counts.
  static MultiplyAdds of(std::map<std::string, double> by_precision);
};

struct Layer {
  std::string layer;
  std::string role;
  std::string precision;
  std::string reason;
  double multiply_adds = 0;
};

/// McNemar's exact test of whether two builds' accuracies differ, over the images only one has
/// right.
struct McNemar {
  std::uint64_t lost = 0;
  std::uint64_t gained = 0;
  double p_value = 1;
};

struct Quality {
  std::uint64_t images = 0;
  double top1 = 0;
  Interval top1_interval;
  double top5 = 0;
  Interval top5_interval;
  Estimate agreement_fp32;
  std::optional<Estimate> agreement_fp16;
  Estimate sqnr_db;
  Estimate kl;
  McNemar mcnemar;
  double max_abs_diff = 0;
  double mean_abs_diff = 0;
};

struct ChangedImage {
  std::uint64_t image = 0;  ///< index in the whole data set
  std::optional<std::uint64_t> label;
  std::uint64_t reference = 0;  ///< class
  std::uint64_t variant = 0;    ///< class
  double reference_margin = 0;
  std::string thumbnail;  ///< "data:image/png;base64,..." or empty
};

/// One batch size at one boundary.
struct SpeedRow {
  std::uint64_t batch = 1;
  std::string boundary;  ///< "device", "call" or "end_to_end"
  double median_ms = 0;
  Interval interval_ms;
  std::optional<Estimate> ratio_to_fp32;  ///< fp32's time over this one's: above 1 is faster
  std::vector<double> samples_ms;         ///< in the order taken
};

/// Empty: not timed, and the variant's speed_reason says why.
struct Speed {
  std::vector<SpeedRow> batch;
  [[nodiscard]] bool empty() const { return batch.empty(); }
};

struct StressInput {
  std::string name;
  bool finite = true;
  double max_abs_logit = 0;
};

struct LayerRange {
  std::string layer;
  double largest = 0;
  std::string format;
  double format_max = 0;
  double share = 0;  ///< largest / format_max
};

struct NonFinite {
  std::uint64_t held_out = 0;  ///< held-out images with a logit that is not finite
  std::vector<StressInput> stress;
  std::vector<LayerRange> layers;
};

struct Verdict {
  bool ship = false;
  std::vector<std::string> reasons;
  std::vector<std::string> failed;  ///< names of thresholds
};

struct Variant {
  std::string name;
  std::string precision;
  std::string recipe;
  std::string recipe_file;
  std::string backend;
  std::uint64_t threads = 1;
  std::uint64_t level = 1;
  std::vector<std::string> emulated;  ///< formats
  std::string plan;
  Size size;
  Steps steps;
  MultiplyAdds multiply_adds;
  std::vector<Layer> layers;
  Quality quality;
  std::vector<ChangedImage> changed;  ///< worst first
  std::uint64_t changed_count = 0;
  Speed speed;
  std::string speed_reason;
  std::optional<NonFinite> nonfinite;
  Verdict verdict;
};

/// The distance of logits from the reference's.
struct LogitError {
  double sqnr_db = 0;
  double agreement = 0;
  double kl = 0;
};

struct Ablation {
  std::string variant;
  std::uint64_t images = 0;
  std::string kind;  ///< "weights", "activations" or "both"
  LogitError error;
};

struct Calibrator {
  std::string variant;
  std::string observer;
  std::uint64_t images = 0;
  LogitError error;
};

/// One layer narrow, every other one fp32.
struct LayerSensitivity {
  std::string variant;
  std::string layer;
  std::string role;
  std::uint64_t images = 0;
  LogitError error;
  double multiply_adds = 0;
};

/// What a search for an assignment did, step by step.
struct SearchStep {
  std::string layer;  ///< empty: of the whole network
  std::string change;
  double sqnr_db = 0;  ///< after it: of the layer alone where it chose scales, else of the network
};

struct Search {
  std::string variant;
  double budget_db = 0;
  std::uint64_t images = 0;
  std::vector<SearchStep> steps;
};

struct Model {
  std::string name;
  std::string architecture;
  std::string checkpoint;
  std::string checkpoint_sha256;
  Reference reference;
  std::optional<CalibrationFile> calibration;
  std::vector<Variant> variants;
  std::vector<Ablation> ablations;
  std::vector<Calibrator> calibrators;
  std::vector<LayerSensitivity> sensitivity;
  std::vector<Search> searches;
};

struct Measuring {
  std::string clock;
  std::string synchronization;
  std::uint64_t warm_up = 0;
  std::uint64_t rounds = 0;
  std::uint64_t calls = 0;
  std::map<std::string, std::string> boundaries;
};

struct Study {
  std::string name;
  std::string title;
  std::string question;
  std::string created;  ///< ISO 8601 date
  std::string assay;    ///< version
  std::optional<std::string> git;
  SpecText spec;
  Machine machine;
  Data data;
  std::map<std::string, double> thresholds;
  std::vector<Model> models;
  Measuring measuring;
  std::vector<std::string> not_measured;
  std::vector<std::string> hypotheses;
  std::vector<std::string> revisit;
};

inline constexpr std::uint64_t kSchemaVersion = 1;

/// Throws internal, naming the field, where the study holds what no reader would take: a NaN time,
/// a share above 1, text that is not UTF-8.
Json to_json(const Study& study);

/// study.json's text: to_json() with short values on one line. Equal studies give equal text.
std::string to_text(const Study& study);

/// The inverse of to_json(), for JSON that nobody vouches for. Throws bad_input or unsupported
/// (another schema) with the field's path, as "what: models[0].variants[2].quality.top1: ...".
Study from_json(const Json& json, std::string_view what);
Study parse_study(std::string_view text, std::string_view what);

/// Throws not_found, and as parse_study, naming the file.
Study read_study(const std::filesystem::path& path);

/// Writes to_text() under a temporary name and renames it. Throws as AtomicFile and to_json.
void write_study(const Study& study, const std::filesystem::path& path);

}  // namespace assay::study
