#pragma once
/// Manifests: one TOML file a checkpoint that says where it is from, how well it does and which of
/// its quantized builds were studied. docs/manifests.md lists their keys.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace assay::study {

/// A hub's repository at one revision, or a folder.
struct ManifestSource {
  std::string hub;       ///< "timm/mobilevit_s.cvnets_in1k"; empty where there is a path
  std::string revision;  ///< 40 hexadecimal digits
  std::string path;      ///< relative to the folder above the manifest's
};

/// The accuracy to expect of the fp32 build.
struct ManifestAccuracy {
  double top1 = 0;  ///< share
  std::uint64_t images = 0;
  std::string data;  ///< which images
  std::string from;  ///< who measured it, and how
};

/// A quantized build.
struct ManifestVariant {
  std::string name;  ///< as the study calls it
  graph::Precision precision = graph::Precision::fp32;
  std::string recipe;  ///< a built-in one's name, or a .toml file relative to the folder above
  std::string study;   ///< a study's folder, relative to the folder above; empty: none yet
};

struct Manifest {
  std::string name;
  std::string family;
  std::string architecture;
  graph::Precision precision = graph::Precision::fp32;  ///< of the build that is meant by default
  std::uint64_t batch = 1;                              ///< likewise
  ManifestSource source;
  std::optional<ManifestAccuracy> accuracy;
  std::vector<ManifestVariant> variants;
};

/// Reads a manifest and checks it against this build (families, architectures, precisions,
/// recipes), the checkpoint's folder where it names one, and the studies. Throws not_found for the
/// manifest itself, else bad_input with file, line, key, what was found and what was expected; and
/// as read_study() of a study that it names.
Manifest read_manifest(const std::filesystem::path& path);

}  // namespace assay::study
