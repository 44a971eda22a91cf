#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "families/crossvit.h"
#include "families/families.h"
#include "families/mobilevit.h"

namespace assay::families {
namespace {

constexpr std::size_t kSuggestions = 3;

/// The fewest letters to insert and delete. A replacement counts as one of each: of names that
/// share their parts, such as "crossvit_9_dagger_240" and "crossvit_9_240", none is to be far.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 2);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// The supported architectures, nearest first.
std::vector<std::string_view> nearest(std::string_view wanted) {
  std::vector<std::pair<std::size_t, std::string_view>> ranked;
  for (const Family& family : all()) {
    for (const std::string_view name : family.architectures) {
      ranked.emplace_back(edit_distance(wanted, name), name);
    }
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string_view>::first);
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::min(kSuggestions, ranked.size()); ++i) {
    names.push_back(ranked[i].second);
  }
  return names;
}

}  // namespace

std::span<const Family> all() {
  static const std::vector<Family> families{crossvit_family(), mobilevit_family()};
  return families;
}

graph::Graph build(const Request& request) {
  // timm takes "crossvit_9_240.in1k" wherever it takes an architecture: the rest names weights.
  constexpr std::size_t kLongestName = 128;
  const std::string_view full = request.config.architecture;
  const std::string_view architecture = full.substr(0, full.find('.')).substr(0, kLongestName);
  for (const Family& family : all()) {
    if (std::ranges::find(family.architectures, architecture) != family.architectures.end()) {
      return family.build(request, architecture);
    }
  }
  fail(ErrorKind::unsupported, "the architecture '{}' is not supported; the nearest that are: {}",
       full.substr(0, kLongestName), fmt::join(nearest(architecture), ", "));
}

}  // namespace assay::families
