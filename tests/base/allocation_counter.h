#pragma once
/// How often this program has allocated with operator new, for tests that nothing allocates.
#include <cstddef>
#include <optional>

namespace assay::testing_support {

/// Nothing where a sanitizer brings its own allocator.
std::optional<std::size_t> allocations();

}  // namespace assay::testing_support
