#pragma once
/// The nearest word to a mistyped one.
#include <span>
#include <string>
#include <string_view>

namespace assay::cli {

/// How many insertions, deletions, substitutions and swaps of neighbours turn `a` into `b` (optimal
/// string alignment distance).
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, or "" where none is near enough to be meant (more than a third
/// of its letters would have to change, at least two).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace assay::cli
