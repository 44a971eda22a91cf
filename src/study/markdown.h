#pragma once
/// What is wrong with a page of Markdown that can be told without rendering it.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::study {

/// Problems of `text`, the page at `path`, one line each, "PATH:LINE: what": rows of tables with
/// another number of cells than the line of dashes has, code fences that are not closed, relative
/// links to what does not exist, and links that leave `root` where that is not empty. As GitHub
/// reads it: https://github.github.com/gfm. Thread-safe; looks into the file system for links.
std::vector<std::string> check_markdown(std::string_view text, const std::filesystem::path& path,
                                        const std::filesystem::path& root);

}  // namespace assay::study
