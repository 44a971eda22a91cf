#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shards.h"

namespace assay::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxConfigBytes = 16'000'000;  // 21,841 labels and descriptions take 2 MB
constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kWeights = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kWrapperPrefix = "timm_model.";

/// What `path` is; not_found where nothing is there. Throws bad_input with the system's reason
/// where it can't be told: no permission, a loop of links.
fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) {
    fail(ErrorKind::bad_input, "{}: {}", path.string(), error.message());
  }
  return status;
}

bool is_file(const fs::path& path) { return fs::is_regular_file(status_of(path)); }

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// A hub cache keeps each revision in .../snapshots/<its 40 hexadecimal digits>/.
std::optional<std::string> revision_of(const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  const std::string name = real.filename().string();
  const bool snapshot = !error && real.parent_path().filename() == "snapshots" &&
                        name.size() == 40 && std::all_of(name.begin(), name.end(), is_hex);
  return snapshot ? std::optional(name) : std::nullopt;
}

SourceFile source(const fs::path& folder, const std::string& name) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(folder / name);
  return {name, file->bytes().size(), sha256_hex(file->bytes())};
}

/// The names in `folder` that end in one of `endings`, sorted.
std::vector<std::string> names_ending(const fs::path& folder,
                                      std::initializer_list<std::string_view> endings) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (std::any_of(endings.begin(), endings.end(),
                    [&](std::string_view ending) { return name.ends_with(ending); })) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

[[noreturn]] void refuse_without_weights(const fs::path& folder) {
  if (const auto others = names_ending(folder, {".safetensors"}); !others.empty()) {
    fail(ErrorKind::not_found, "{}: no {}, but {}; give the path of the right file instead",
         folder.string(), kWeights, fmt::join(others, ", "));
  }
  if (const auto pickles = names_ending(folder, {".bin", ".pth", ".pt", ".ckpt", ".pth.tar"});
      !pickles.empty()) {
    fail(ErrorKind::bad_input,
         "{}: the weights are there only as {}: a PyTorch pickle is not read because it can run "
         "code. Fetch the repository's {}, or convert a file that you trust with "
         "safetensors.torch.save_file",
         folder.string(), fmt::join(pickles, ", "), kWeights);
  }
  fail(ErrorKind::not_found,
       "{}: no weights: expected {}, or {} and its shards; fetch the whole repository",
       folder.string(), kWeights, kIndex);
}

/// The folder, and the weights' file in it where the caller named one.
struct Place {
  fs::path folder;
  std::string weights;  ///< "" where the folder's usual names hold
};

Place place_of(const fs::path& path) {
  const fs::file_status status = status_of(path);
  if (status.type() == fs::file_type::not_found) {
    fail(ErrorKind::not_found, "{}: there is no such checkpoint: expected a folder with {} and {}",
         path.string(), kConfig, kWeights);
  }
  if (fs::is_directory(status)) {
    return {path, ""};
  }
  if (path.extension() != ".safetensors") {
    fail(ErrorKind::bad_input,
         "{}: not a checkpoint: expected a folder, or a .safetensors file beside its {}",
         path.string(), kConfig);
  }
  return {path.has_parent_path() ? path.parent_path() : fs::path("."), path.filename().string()};
}

Weights read_index(Checkpoint& checkpoint) {
  const fs::path path = checkpoint.folder / kIndex;
  const ShardIndex index = parse_index(read_text(path, kMaxIndexBytes), path.string());
  Weights weights = read_shards(index, checkpoint.folder, path.string());
  checkpoint.files.push_back(source(checkpoint.folder, std::string(kIndex)));
  for (const std::string& shard : index.shards) {
    checkpoint.files.push_back(source(checkpoint.folder, shard));
  }
  return weights;
}

/// The file that the caller named, else model.safetensors, else the index: transformers' order.
Weights read_weights(Checkpoint& checkpoint, const std::string& named) {
  const std::string file = named.empty() ? std::string(kWeights) : named;
  if (!named.empty() || is_file(checkpoint.folder / file)) {
    Weights weights = read_safetensors(checkpoint.folder / file);
    checkpoint.files.push_back(source(checkpoint.folder, file));
    return weights;
  }
  if (is_file(checkpoint.folder / kIndex)) {
    return read_index(checkpoint);
  }
  refuse_without_weights(checkpoint.folder);
}

/// transformers' TimmWrapper holds the network as its member timm_model, and some of its versions
/// save the names so. Names as timm has them come out, where every one has the prefix.
Weights without_wrapper_prefix(Weights weights) {
  const auto prefixed = [](const auto& entry) { return entry.first.starts_with(kWrapperPrefix); };
  if (!std::all_of(weights.all().begin(), weights.all().end(), prefixed)) {
    return weights;
  }
  Weights renamed;
  renamed.metadata = std::move(weights.metadata);
  for (const auto& [name, tensor] : weights.all()) {
    TensorView view = tensor;
    view.name = name.substr(kWrapperPrefix.size());
    renamed.add(std::move(view));
  }
  return renamed;
}

}  // namespace

Checkpoint open(const fs::path& path) {
  const Place place = place_of(path);
  const fs::path config = place.folder / kConfig;
  if (!is_file(config)) {
    fail(ErrorKind::not_found, "{}: no {}, which says what the network is; fetch it too",
         place.folder.string(), kConfig);
  }
  Checkpoint checkpoint;
  checkpoint.folder = place.folder;
  checkpoint.config = parse_config(read_text(config, kMaxConfigBytes), config.string());
  checkpoint.files.push_back(source(place.folder, std::string(kConfig)));
  checkpoint.weights = without_wrapper_prefix(read_weights(checkpoint, place.weights));
  checkpoint.revision = revision_of(place.folder);
  return checkpoint;
}

}  // namespace assay::checkpoint
