#pragma once
/// The room for the file that users ship: write, read, verify, and the build that makes it from a
/// checkpoint. docs/bundle-format.md is the format.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "graph/graph.h"
#include "image/image.h"

namespace assay::bundle {

/// Where a bundle comes from.
struct Provenance {
  std::string architecture;
  std::string family;
  std::vector<checkpoint::SourceFile> files;
  std::string revision;     ///< empty where unknown
  std::string config_text;  ///< config.json as it was
  std::string tool_version;
};

/// A bundle as a value. Constants of the graph point into the mapped file after read().
struct Bundle {
  std::shared_ptr<const graph::Graph> graph;
  image::Transform transform;
  std::vector<std::string> labels;
  std::string precision = "fp32";
  int optimization_level = 1;
  int max_batch = 1;
  Provenance provenance;
};

struct BuildOptions {
  std::string precision = "fp32";
  int optimization_level = 1;
  int max_batch = 1;
  std::int64_t input_height =
      0;  ///< 0: the configuration's; refused where it says fixed_input_size
  std::int64_t input_width = 0;
};

/// Checkpoint → family → graph → passes → Bundle. Deterministic. Throws as its parts do.
Bundle build(const checkpoint::Checkpoint& checkpoint, const BuildOptions& options);

/// Writes `bundle`; the same bundle gives the same bytes.
void write(const Bundle& bundle, const std::filesystem::path& path);

/// Maps and reads a bundle; header and every section's checksum are checked. Throws corrupt, or
/// unsupported for a newer format version. Nothing in the file is trusted or executed.
Bundle read(const std::filesystem::path& path);

}  // namespace assay::bundle
