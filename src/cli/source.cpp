#include "cli/source.h"

#include "base/file.h"
#include "checkpoint/checkpoint.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 16 << 20;

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

void count_constants(bundle::Description& description) {
  for (const graph::Value& value : description.bundle.graph->values) {
    if (!value.constant) continue;
    description.parameters += static_cast<std::uint64_t>(graph::elements(value.dims));
    description.weight_bytes += value.constant->bytes.size();
  }
}

}  // namespace

bundle::Description open_source(const std::filesystem::path& path) {
  if (!is_folder(path)) return bundle::describe(path);
  bundle::Description description;
  description.bundle = bundle::build(checkpoint::open(path), {});
  count_constants(description);
  return description;
}

image::Transform transform_of(const std::filesystem::path& path) {
  if (!is_folder(path)) return bundle::read(path).transform;
  const std::filesystem::path config = path / "config.json";
  return checkpoint::parse_config(read_text(config, kMaxConfigBytes), config.string()).transform;
}

}  // namespace assay::cli
