#include <array>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "bundle/finite.h"
#include "bundle/reader.h"

namespace assay::bundle {
namespace {

std::string check_finite(const Bundle& bundle) {
  std::uint64_t numbers = 0;
  for (const graph::Value& value : bundle.graph->values) {
    if (!value.constant) continue;
    if (const auto found = first_nonfinite(*value.constant))
      fail(ErrorKind::corrupt, "constant {}: a weight is {}", value.name, *found);
    numbers += static_cast<std::uint64_t>(graph::elements(value.dims));
  }
  return fmt::format("{} numbers", numbers);
}

Description open(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  Reader reader(file->bytes(), file);
  Description description;
  try {
    description.bundle = read_all(reader);
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", path.string(), error.what());
  }
  const Preamble& preamble = reader.preamble();
  description.format_version = preamble.version;
  description.file_bytes = preamble.file_bytes;
  description.header_bytes = preamble.header_bytes;
  std::size_t index = 0;
  for (const graph::Value& value : description.bundle.graph->values) {
    if (!value.constant) continue;
    const Section& section = reader.sections()[index++];
    description.sections.push_back({value.name, section.dtype, value.dims,
                                    preamble.data_begin() + section.offset, section.size,
                                    section.checksum});
    description.weight_bytes += section.size;
    description.parameters += static_cast<std::uint64_t>(graph::elements(value.dims));
  }
  return description;
}

}  // namespace

Bundle read(const std::filesystem::path& path) { return open(path).bundle; }

Description describe(const std::filesystem::path& path) { return open(path); }

std::vector<Check> verify(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  Reader reader(file->bytes(), file);
  Bundle bundle;
  std::vector<Check> checks;
  const auto run = [&](const char* name, const auto& step) {
    try {
      checks.push_back({name, step(), std::nullopt});
    } catch (const Error& error) {
      checks.push_back({name, error.what(), error.kind()});
    }
    return checks.back().passed();
  };
  for (const Step& step : reading_steps())
    if (!run(step.name, [&] { return step.run(reader, bundle); })) return checks;
  run("finite weights", [&] { return check_finite(bundle); });
  return checks;
}

bool looks_like_bundle(const std::filesystem::path& path) noexcept {
  try {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return false;
    std::array<char, kMagic.size()> begin{};
    std::ifstream stream(path, std::ios::binary);
    return stream.read(begin.data(), begin.size()) &&
           std::memcmp(begin.data(), kMagic.data(), kMagic.size()) == 0;
  } catch (...) {
    return false;
  }
}

}  // namespace assay::bundle
