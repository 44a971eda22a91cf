#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "pipeline/image_files.h"
#include "pipeline/webdataset.h"

namespace assay::pipeline {
namespace {

constexpr std::uint64_t kMaxShards = 100'000;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

bool is_shard_name(const std::filesystem::path& path) {
  const std::string name = lower_case(path.filename().string());
  return name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz");
}

std::vector<std::filesystem::path> find_shards(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> shards;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file() && is_shard_name(entry.path()) &&
        !entry.path().filename().string().starts_with('.'))
      shards.push_back(entry.path());
  std::ranges::sort(shards);
  return shards;
}

std::vector<std::filesystem::path> expand_shards(const std::string& pattern) {
  const std::size_t open = pattern.find('{');
  const std::size_t close = pattern.find('}', open);
  if (open == std::string::npos) return {pattern};
  const auto bad = [&] {
    fail(ErrorKind::bad_input, "{}: expected one range in braces, as in name-{{000..003}}.tar",
         pattern);
  };
  if (close == std::string::npos || pattern.find_first_of("{}", close + 1) != std::string::npos)
    bad();
  const std::string_view range = std::string_view(pattern).substr(open + 1, close - open - 1);
  const std::size_t dots = range.find("..");
  if (dots == std::string_view::npos) bad();
  const auto first = whole_number(range.substr(0, dots));
  const auto last = whole_number(range.substr(dots + 2));
  if (!first || !last || *last < *first) bad();
  if (*last - *first >= kMaxShards)
    fail(ErrorKind::bad_input, "{}: more than {} shards", pattern, kMaxShards);
  std::vector<std::filesystem::path> shards;
  for (std::uint64_t i = *first; i <= *last; ++i)
    shards.emplace_back(
        fmt::format("{}{:0{}}{}", pattern.substr(0, open), i, dots, pattern.substr(close + 1)));
  return shards;
}

}  // namespace assay::pipeline
