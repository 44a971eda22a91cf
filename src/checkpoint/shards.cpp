#include "checkpoint/shards.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/config_fields.h"
#include "checkpoint/quote.h"

namespace assay::checkpoint {
namespace {

constexpr std::size_t kMostNamed = 20;  // names in one message

/// "3 tensors 'a', 'b', 'c'".
std::string listed(const std::vector<std::string>& names, std::string_view noun) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
    shown.push_back(quote(names[i]));
  }
  return fmt::format("{} {}{} {}{}", names.size(), noun, names.size() == 1 ? "" : "s",
                     fmt::join(shown, ", "), names.size() > kMostNamed ? ", ..." : "");
}

bool stays_inside(const std::string& name) {
  const std::filesystem::path path(name);
  const auto leaves = [](const std::filesystem::path& part) { return part == ".." || part == "."; };
  return !path.empty() && path.is_relative() && name.find('\\') == std::string::npos &&
         std::none_of(path.begin(), path.end(), leaves);
}

void check_shard_name(const std::string& shard, const std::string& tensor, std::string_view what) {
  if (shard.find('\0') != std::string::npos) {
    fail(ErrorKind::bad_input, "{}: tensor {} is said to be in {}, which no file can be called",
         what, quote(tensor), quote(shard));
  }
  if (!stays_inside(shard)) {
    fail(ErrorKind::bad_input, "{}: tensor {} is said to be in {}, which leaves the folder", what,
         quote(tensor), quote(shard));
  }
  if (!shard.ends_with(".safetensors")) {
    fail(ErrorKind::bad_input, "{}: tensor {} is said to be in {}, which is no .safetensors file",
         what, quote(tensor), quote(shard));
  }
}

void check_present(const ShardIndex& index, const std::filesystem::path& folder,
                   std::string_view what) {
  std::vector<std::string> missing;
  for (const std::string& shard : index.shards) {
    std::error_code error;
    if (!std::filesystem::exists(folder / shard, error)) {
      missing.push_back(shard);
    }
  }
  if (!missing.empty()) {
    fail(ErrorKind::not_found, "{}: {} missing in {}; fetch the whole repository", what,
         listed(missing, "shard"), folder.string());
  }
}

/// That `tensor`, found in `shard`, is where the index has it.
void check_listed(const ShardIndex& index, const std::string& tensor, const std::string& shard,
                  std::string_view what) {
  const auto place = index.shard_of.find(tensor);
  if (place == index.shard_of.end()) {
    fail(ErrorKind::corrupt, "{}: tensor {} is in {} but not in the index", what, quote(tensor),
         quote(shard));
  }
  if (place->second != shard) {
    fail(ErrorKind::corrupt, "{}: tensor {} is in {}, but the index says {}", what, quote(tensor),
         quote(shard), quote(place->second));
  }
}

void check_complete(const ShardIndex& index, const Weights& weights, std::string_view what) {
  std::vector<std::string> missing;
  for (const auto& [tensor, shard] : index.shard_of) {
    if (weights.find(tensor) == nullptr) {
      missing.push_back(tensor + " (" + shard + ")");
    }
  }
  if (!missing.empty()) {
    fail(ErrorKind::corrupt, "{}: {} listed in the index but not in the shard", what,
         listed(missing, "tensor"));
  }
}

}  // namespace

ShardIndex parse_index(std::string_view text, std::string_view what) {
  const Json document = parse_json(text, what);
  const Fields root(document, what, "");
  const Json* map = root.find("weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) {
    root.refuse("weight_map", "an object from each tensor's name to its shard's");
  }
  ShardIndex index;
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) {
      fail(ErrorKind::bad_input, "{}: weight_map gives tensor {} {}, expected a shard's name", what,
           quote(tensor), shard.type_name());
    }
    const auto& name = shard.get_ref<const std::string&>();
    check_shard_name(name, tensor, what);
    index.shard_of.emplace(tensor, name);
    shards.insert(name);
  }
  index.shards.assign(shards.begin(), shards.end());
  return index;
}

Weights read_shards(const ShardIndex& index, const std::filesystem::path& folder,
                    std::string_view what) {
  check_present(index, folder, what);
  Weights weights;
  for (const std::string& shard : index.shards) {
    const Weights part = read_safetensors(folder / shard);
    for (const auto& [name, tensor] : part.all()) {
      if (weights.find(name) != nullptr) {
        fail(ErrorKind::corrupt, "{}: tensor {} is in two shards, {} and {}", what, quote(name),
             quote(index.shard_of.at(name)), quote(shard));
      }
      check_listed(index, name, shard, what);
      weights.add(tensor);
    }
    weights.metadata.insert(part.metadata.begin(), part.metadata.end());
  }
  check_complete(index, weights, what);
  return weights;
}

}  // namespace assay::checkpoint
