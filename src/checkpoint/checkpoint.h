#pragma once
/// The room for what a training framework published: safetensors files, shards, and the dialects of
/// config.json. It turns a folder into a Checkpoint value and builds nothing.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "image/image.h"
#include "numerics/dtype.h"

namespace assay::checkpoint {

/// One stored tensor. `bytes` live as long as `owner`; they need not be aligned.
struct TensorView {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  [[nodiscard]] std::int64_t elements() const;
};

/// All tensors of a checkpoint by name, over one safetensors file or many shards.
class Weights {
 public:
  void add(TensorView tensor);  ///< throws bad_input for a name that is there already
  [[nodiscard]] const TensorView* find(std::string_view name) const;  ///< nullptr where absent
  [[nodiscard]] const std::map<std::string, TensorView, std::less<>>& all() const {
    return tensors_;
  }
  std::map<std::string, std::string> metadata;  ///< the files' __metadata__, merged

 private:
  std::map<std::string, TensorView, std::less<>> tensors_;
};

/// Maps one safetensors file. Throws bad_input/corrupt naming file and tensor (see safetensors.h).
Weights read_safetensors(const std::filesystem::path& file);

/// What config.json says, whichever dialect it is written in.
struct ModelConfig {
  std::string architecture;  ///< timm's name without tag: "crossvit_9_240"
  int num_classes = 1000;
  image::Transform transform;
  bool fixed_input_size = false;
  std::vector<std::string>
      labels;  ///< num_classes names; made up as "class 17" only where none are known
  std::map<std::string, std::string>
      model_args;    ///< overrides of the family's table: name → JSON text
  std::string text;  ///< the file as it was
};

/// A file that belongs to the checkpoint, for provenance.
struct SourceFile {
  std::string name;  ///< relative to the folder
  std::uint64_t size = 0;
  std::string sha256;
};

struct Checkpoint {
  std::filesystem::path folder;
  ModelConfig config;
  Weights weights;
  std::vector<SourceFile> files;
  std::optional<std::string> revision;
};

/// Reads `folder` (config.json + model.safetensors or model.safetensors.index.json).
/// Throws not_found, bad_input, corrupt or unsupported.
Checkpoint open(const std::filesystem::path& folder);

/// Parses config.json's text alone; `what` names it in messages.
ModelConfig parse_config(std::string_view text, std::string_view what);

/// The 1,000 names of ImageNet-1k's classes, in the usual order.
std::span<const std::string_view> imagenet1k_labels();

}  // namespace assay::checkpoint
