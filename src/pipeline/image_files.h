#pragma once
/// Which files a dataset takes for images.
#include <filesystem>
#include <string>
#include <string_view>

namespace assay::pipeline {

/// ASCII lower case.
std::string lower_case(std::string_view text);
/// "jpg", "jpeg", "png" or "webp", in any case; without the dot.
bool is_image_extension(std::string_view extension);
bool has_image_extension(const std::filesystem::path& path);

}  // namespace assay::pipeline
