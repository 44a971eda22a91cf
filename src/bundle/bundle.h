#pragma once
/// The room for the file that users ship: write, read, verify, and the build that makes it from a
/// checkpoint. docs/bundle-format.md is the format.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/error.h"
#include "backend/backend.h"
#include "backend/tuner.h"
#include "checkpoint/checkpoint.h"
#include "graph/graph.h"
#include "image/image.h"
#include "quant/calibration.h"
#include "quant/recipe.h"

namespace assay::bundle {

/// Largest batch that a bundle or a call may ask for.
inline constexpr int kMaxBatch = 4096;

/// Where a bundle comes from.
struct Provenance {
  std::string architecture;
  std::string family;
  std::vector<checkpoint::SourceFile> files;
  std::string revision;     ///< empty where unknown
  std::string config_text;  ///< config.json as it was
  std::string tool_version;
  std::optional<quant::CalibrationSource> calibration{};  ///< where the recipe needs one
  std::optional<quant::Recipe> recipe{};                  ///< at every precision but fp32
};

/// The tactics that were measured to be best on one machine.
struct Tuning {
  std::string cpu;  ///< as cpu_model() names it
  std::string isa;  ///< the instruction set in use
  int threads = 1;
  backend::Tactics tactics;  ///< empty where the default ones are best
};

/// A bundle as a value. Constants of the graph point into the mapped file after read().
struct Bundle {
  std::shared_ptr<const graph::Graph> graph;
  image::Transform transform;
  std::vector<std::string> labels;
  /// "fp32", "fp16", "bf16", "int8", "fp8" or "nvfp4": no node has a narrower one.
  std::string precision = "fp32";
  int optimization_level = 1;
  int max_batch = 1;
  Provenance provenance;
  std::vector<Tuning> tunings{};  ///< at level 3: one a machine and number of threads
};

struct BuildOptions {
  std::string precision;                  ///< empty: the recipe's; without a recipe, fp32
  std::optional<quant::Recipe> recipe{};  ///< none: the precision's default_recipe()
  std::optional<quant::Calibration>
      calibration{};  ///< of the fp32 bundle, where the recipe needs it
  int optimization_level = 1;
  int max_batch = 1;
  std::int64_t input_height =
      0;  ///< 0: the configuration's; refused where it says fixed_input_size
  std::int64_t input_width = 0;
};

/// The recipe that the options come to, the precision and the recipe having been held against each
/// other. Throws as build().
quant::Recipe recipe_of(const BuildOptions& options);

/// Checkpoint → family → graph → passes → quant::quantize → Bundle. Deterministic. At fp32 every
/// constant is F32; elsewhere weights are as the recipe says.
/// Throws unsupported for a precision or optimization level that does not exist (yet) and for an
/// input size other than the configuration's where that is fixed, bad_input for a batch or size out
/// of range, for weights that are not finite, stored or merged, for a recipe of another precision,
/// and for a calibration that the recipe lacks or does not need; otherwise as its parts do.
Bundle build(const checkpoint::Checkpoint& checkpoint, const BuildOptions& options);

/// How to lower the bundle's graph for `target`: its level, batch and normalization, and at level 3
/// on the cpu backend what was tuned on this machine for so many threads (0: all cores), if
/// anything.
backend::LowerOptions lower_options(const Bundle& bundle, const backend::Target& target,
                                    int threads);

/// What was tuned on this machine for so many threads (0: all cores); null for nothing.
const Tuning* tuning_here(const Bundle& bundle, int threads);

/// Measures tactics on the cpu backend of this machine and keeps them in the bundle, whose level
/// becomes 3. Throws bad_input for a bundle of level 0; otherwise as backend::tune().
backend::Tuned tune(Bundle& bundle, int threads, const backend::TuneOptions& options);

/// Writes `bundle`; the same bundle gives the same bytes. Throws bad_input where the file can't be
/// written.
void write(const Bundle& bundle, const std::filesystem::path& path);

/// Maps and reads a bundle; header and every section's checksum are checked. Throws not_found,
/// bad_input (not a bundle at all), corrupt, or unsupported (a newer format version, a feature or
/// precision this build does not know). Nothing in the file is trusted or executed, and no
/// allocation is larger than a small multiple of the file.
Bundle read(const std::filesystem::path& path);

/// One thing that verify() looked at.
struct Check {
  std::string name;    ///< "header checksum"
  std::string detail;  ///< what was found, or why it failed
  std::optional<ErrorKind> failure;
  [[nodiscard]] bool passed() const { return !failure.has_value(); }
};

/// Every check of read(), one by one, and that all weights are finite. The first that fails ends
/// the list, as the later ones would read what it could not vouch for. Throws not_found or
/// bad_input where there is no file to check.
std::vector<Check> verify(const std::filesystem::path& path);

/// One stored constant.
struct SectionInfo {
  std::string name;  ///< the graph value's name
  DType dtype = DType::f32;
  graph::Dims dims;
  std::uint64_t offset = 0;  ///< from the start of the file
  std::uint64_t size = 0;    ///< bytes without padding
  std::uint64_t checksum = 0;
};

/// What `inspect` shows of a bundle's file.
struct Description {
  Bundle bundle;
  std::uint32_t format_version = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t header_bytes = 0;
  std::uint64_t weight_bytes = 0;
  std::uint64_t parameters = 0;  ///< stored numbers
  std::vector<SectionInfo> sections;
};

/// As read(), with the file's layout. Throws as read() does.
Description describe(const std::filesystem::path& path);

/// Whether `path` is a regular file that begins as a bundle does; never throws.
bool looks_like_bundle(const std::filesystem::path& path) noexcept;

}  // namespace assay::bundle
