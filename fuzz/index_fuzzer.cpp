/// Any text as model.safetensors.index.json: an Error, or shards that stay in the folder.
#include <algorithm>

#include "assay/error.h"
#include "checkpoint/shards.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using assay::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto index = assay::checkpoint::parse_index(text, "input");
    require(!index.shards.empty(), "there is a shard");
    require(index.shards.size() <= index.shard_of.size(), "each shard has a tensor");
    const std::filesystem::path folder = "/folder/of/the/model";
    for (const std::string& shard : index.shards) {
      const auto path = (folder / shard).lexically_normal();
      const auto [mismatch, rest] =
          std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
      require(mismatch == folder.end() && rest != path.end(), "a shard stays in the folder");
      require(shard.find('\0') == std::string::npos, "a shard's name has no NUL");
    }
  } catch (const assay::Error&) {
  }
  return 0;
}
