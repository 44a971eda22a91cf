#pragma once
/// Which room may include what of which other room: DESIGN's arrows, as a check.
#include "structure/source_tree.h"

namespace assay::structure {

/// The #include lines of one file under src/ or include/ that break a rule:
/// - a room includes itself and rooms below it only; a family nothing of a backend, and a backend
///   no family;
/// - one backend's folder nothing of another's;
/// - cli and study see a room's public headers only;
/// - the public headers include nothing but each other;
/// - a family reads no files;
/// - every quoted include is spelled from the root of src/ or include/.
Findings check_includes(const SourceFile& file);

}  // namespace assay::structure
