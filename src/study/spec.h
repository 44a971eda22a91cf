#pragma once
/// What a study is to measure: the TOML file that `assay study` takes, as a value. docs/studies.md
/// lists its keys.
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::study {

/// A checkpoint to build. Paths are as the file has them: relative to its folder.
struct ModelSpec {
  std::string name;
  std::string checkpoint;
  std::string reference;  ///< a safetensors file of logits; empty: the cpu backend's fp32
};

/// How to find an assignment of precisions: quant/search.h.
struct AutoSpec {
  std::string from;               ///< the recipe that it starts from
  double gain_db = 0;             ///< SQNR to reach, above that recipe's; 0 where sqnr_db is given
  double sqnr_db = 0;             ///< SQNR to reach; 0 where gain_db is given
  double keep_multiply_adds = 0;  ///< share of that recipe's narrow multiply-adds to stay narrow
  std::uint64_t images = 0;       ///< calibration images to measure on
};

/// One build of every model.
struct VariantSpec {
  std::string name;
  std::string recipe;  ///< a shipped recipe's name, a .toml file, "fp32" or "auto"
  std::optional<AutoSpec> search;
  std::string backend = "cpu";
  int level = 1;
  int threads = 0;  ///< 0: the study's; of the cpu backend alone
};

struct SelectionSpec {
  std::uint64_t stride = 1;
  std::uint64_t offset = 0;
  std::uint64_t limit = 0;  ///< 0: all
};

struct AblationSpec {
  std::uint64_t images = 500;            ///< held-out images, evenly spread
  std::vector<std::string> variants;     ///< of which to round weights, activations, both
  std::vector<std::string> calibrators;  ///< of which to try every observer in `observers`
  std::vector<std::string> observers;    ///< empty: all that there are
  std::vector<std::string> sensitivity;  ///< of which to narrow one layer at a time
};

struct SpeedSpec {
  std::vector<std::uint64_t> batches{1};
  std::uint64_t warmup = 5;
  std::uint64_t rounds = 40;
};

struct Spec {
  std::string name;
  std::string title;
  std::string question;
  std::string data;
  int threads = 0;  ///< 0: all cores
  SelectionSpec calibration;
  SelectionSpec held_out;
  AblationSpec ablation;
  SpeedSpec speed;
  /// Lowest "agreement", "speedup", "sqnr_db", highest "top1_drop"; a variant that fails one does
  /// not ship. Those that are absent judge nothing.
  std::map<std::string, double> thresholds;
  std::vector<ModelSpec> models;
  std::vector<VariantSpec> variants;  ///< the one that is the reference of speed comes first
  std::vector<std::string> hypotheses;
  std::vector<std::string> revisit;

  std::string text;              ///< the file's
  std::filesystem::path folder;  ///< that its paths are relative to

  /// `path` as the file has it, from where the program runs.
  [[nodiscard]] std::filesystem::path resolve(const std::string& path) const;
  /// Throws internal where there is none.
  [[nodiscard]] const VariantSpec& variant(std::string_view variant_name) const;
};

/// Parses a specification that nobody vouches for; `what` names it in messages. Throws bad_input
/// with the line for a key that is missing, unknown, or says what can't be.
Spec parse_spec(std::string_view text, std::string_view what, std::filesystem::path folder);

/// Throws not_found, and as parse_spec, naming the file.
Spec read_spec(const std::filesystem::path& path);

/// The name of the variant that all are compared with.
inline constexpr std::string_view kFp32 = "fp32";
/// The recipe that is searched for.
inline constexpr std::string_view kAuto = "auto";

}  // namespace assay::study
