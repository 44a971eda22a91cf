#pragma once
/// What must hold of whatever a parser accepts.
#include <cstdio>
#include <cstdlib>

namespace assay::fuzz {

/// Ends the program where `holds` is false: libFuzzer keeps the input, a replay fails.
inline void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "an accepted input breaks: %s\n", what);
    std::abort();
  }
}

}  // namespace assay::fuzz
