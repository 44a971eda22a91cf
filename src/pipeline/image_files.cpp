#include "pipeline/image_files.h"

namespace assay::pipeline {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return lower;
}

bool is_image_extension(std::string_view extension) {
  const std::string lower = lower_case(extension);
  return lower == "jpg" || lower == "jpeg" || lower == "png" || lower == "webp";
}

bool has_image_extension(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension.size() > 1 && is_image_extension(std::string_view(extension).substr(1));
}

}  // namespace assay::pipeline
