#include "cli/image_paths.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "cli/cli.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

bool has_image_extension(const fs::path& path) {
  constexpr std::array<std::string_view, 5> kExtensions{".jpg", ".jpeg", ".jpe", ".png", ".webp"};
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

void add_folder(const std::string& folder, std::vector<ImagePath>& images) {
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored) && has_image_extension(entry->path())) {
      files.push_back(entry->path().string());
    }
  }
  if (error) {
    images.push_back({folder, fmt::format("{}: {}", folder, error.message())});
  } else if (files.empty()) {
    images.push_back({folder, fmt::format("{}: no JPEG, PNG or WebP file in this folder (folders "
                                          "within it are not entered)",
                                          folder)});
  }
  std::ranges::sort(files);
  for (std::string& file : files) images.push_back({std::move(file), {}});
}

void add_path(const std::string& path, std::vector<ImagePath>& images) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return add_folder(path, images);
  images.push_back({path, {}});
}

bool looks_like_glob(std::string_view word) {
  return word.find_first_of("*?[") != std::string_view::npos;
}

void add_glob(const std::string& pattern, std::vector<ImagePath>& images) {
  glob_t matches{};
  const int result = glob(pattern.c_str(), 0, nullptr, &matches);
  if (result == 0) {
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) add_path(matches.gl_pathv[i], images);
  } else {
    images.push_back({pattern, fmt::format("{}: no file matches this pattern", pattern)});
  }
  globfree(&matches);
}

}  // namespace

std::vector<ImagePath> expand_images(std::span<const std::string> words) {
  if (std::ranges::count(words, "-") > 1) {
    throw UsageError("'-' (standard input) can be named once: it holds one image");
  }
  std::vector<ImagePath> images;
  for (const std::string& word : words) {
    std::error_code ignored;
    if (word == "-" || fs::exists(word, ignored) || !looks_like_glob(word)) {
      word == "-" ? images.push_back({word, {}}) : add_path(word, images);
    } else {
      add_glob(word, images);
    }
  }
  return images;
}

}  // namespace assay::cli
