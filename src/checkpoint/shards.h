#pragma once
/// Sharded checkpoints: model.safetensors.index.json and the files that it names.
///
///     {"metadata": {...}, "weight_map": {"tensor's name": "model-00001-of-00002.safetensors",
///     ...}}
///
/// A shard's name is a path inside the index's folder: absolute names, "..", and backslashes are
/// refused. The file itself may be a symbolic link to anywhere, as in a hub cache, where the
/// snapshot links to ../../blobs: whoever can place links in the folder can place files there.
/// "metadata" (a total size that writers disagree about) is not used.
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace assay::checkpoint {

constexpr std::uint64_t kMaxIndexBytes = 64'000'000;

struct ShardIndex {
  std::map<std::string, std::string> shard_of;  ///< tensor's name → shard's
  std::vector<std::string> shards;              ///< each once, sorted
};

/// Parses the index's text; `what` names it. Opens no file. Throws bad_input.
ShardIndex parse_index(std::string_view text, std::string_view what);

/// Maps every shard of `index` in `folder`; `what` names the index. Where shards give one key of
/// __metadata__ different values, the first shard's stays. Throws not_found naming every shard that
/// is missing; corrupt where index and shards disagree, naming the tensor: one that is listed and
/// nowhere, in another shard than listed, in two shards, or not listed.
Weights read_shards(const ShardIndex& index, const std::filesystem::path& folder,
                    std::string_view what);

}  // namespace assay::checkpoint
