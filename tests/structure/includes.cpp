#include "structure/includes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace assay::structure {
namespace {

/// Lowest first; a room may include those before it.
constexpr std::array<std::string_view, 13> kRooms{
    "base",  "numerics", "image",    "checkpoint", "graph", "families", "backend",
    "quant", "bundle",   "pipeline", "study",      "serve", "cli"};

/// What cli, serve and study may include of the rooms below. base and numerics are vocabulary and
/// public as a whole.
const std::map<std::string, std::set<std::string>>& public_headers() {
  static const std::map<std::string, std::set<std::string>> headers{
      {"image", {"image/image.h", "image/write.h"}},
      {"checkpoint", {"checkpoint/checkpoint.h"}},
      {"graph", {"graph/graph.h"}},
      {"families", {"families/families.h"}},
      // isa.h: which instruction sets a build has is for people to see.
      {"backend", {"backend/backend.h", "backend/cpu/isa.h"}},
      {"quant", {"quant/quant.h"}},
      {"bundle", {"bundle/bundle.h"}},
      {"pipeline",
       {"pipeline/boundaries.h", "pipeline/calibrate.h", "pipeline/classifier.h",
        "pipeline/dataset.h", "pipeline/image_batch.h", "pipeline/reference_logits.h",
        "pipeline/score.h", "pipeline/evaluate.h", "pipeline/measure.h", "pipeline/pipeline.h",
        "pipeline/preprocess.h"}},
      {"study", {"study/study.h"}},
  };
  return headers;
}

std::optional<std::size_t> rank(std::string_view room) {
  const auto* found = std::find(kRooms.begin(), kRooms.end(), room);
  if (found == kRooms.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kRooms.begin());
}

/// "backend/cpu/isa.h" → {"backend", "cpu", "isa.h"}.
std::vector<std::string> parts_of(const std::filesystem::path& path) {
  return {path.begin(), path.end()};
}

/// What stands between the quotes of an #include line.
std::optional<std::string> quoted_include(const std::string& line) {
  const auto start = line.find_first_not_of(" \t");
  if (start == std::string::npos || line[start] != '#') return std::nullopt;
  const auto word = line.find("include", start);
  const auto open = line.find('"', start);
  if (word == std::string::npos || open == std::string::npos || word > open) return std::nullopt;
  const auto close = line.find('"', open + 1);
  if (close == std::string::npos) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

/// Why the file `from` of a room may not include `to`; empty where it may.
std::string room_objection(const std::vector<std::string>& from, const std::string& to) {
  const auto target = parts_of(to);
  if (target.front() == "assay") return "";
  const auto from_rank = rank(from.front());
  const auto to_rank = rank(target.front());
  if (!to_rank) return "is in no room; spell it from the root of src/";
  if (!from_rank) return "comes from a folder that is no room";
  const std::string arrow = from.front() + " may not include " + target.front();
  if (*to_rank > *from_rank) return arrow + ": it is the higher room";
  if (from.front() == "backend" && target.front() == "families") return arrow;
  if (from.front() == "families" && (target.front() == "image" || to == "base/file.h")) {
    return "a family touches no files and no pictures";
  }
  const bool both_backends = from.front() == "backend" && target.front() == "backend";
  if (both_backends && from.size() > 2 && target.size() > 2 && from[1] != target[1]) {
    return "backend/" + from[1] + " may not include another backend's folder";
  }
  const bool outside = *from_rank >= *rank("study") && from.front() != target.front();
  const auto listed = public_headers().find(target.front());
  if (outside && listed != public_headers().end() && !listed->second.contains(to)) {
    return from.front() + " may include public headers only, and this is none";
  }
  return "";
}

std::string objection(const SourceFile& file, const std::string& to) {
  auto parts = parts_of(file.path);
  const bool is_public = parts.front() == "include";
  parts.erase(parts.begin());
  if (is_public) {
    return parts_of(to).front() == "assay" ? "" : "a public header may include public ones only";
  }
  return room_objection(parts, to);
}

}  // namespace

Findings check_includes(const SourceFile& file) {
  const auto parts = parts_of(file.path);
  const std::set<std::string> sources{".h", ".cpp", ".cu", ".cuh"};
  if (parts.front() != "src" && parts.front() != "include") return {};
  if (!sources.contains(file.path.extension().string())) return {};
  Findings findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const auto to = quoted_include(file.lines[i]);
    if (!to) continue;
    const std::string why = objection(file, *to);
    if (!why.empty()) findings.push_back(finding(file, i + 1, "\"" + *to + "\": " + why));
  }
  return findings;
}

}  // namespace assay::structure
