#pragma once
/// What chains change of the steps that they are made of.
#include "backend/cuda/chains.h"

namespace assay::backend::cuda {

/// Whether some layout has room for the plan's members.
bool fits_some_layout(ChainPlan plan);

/// A product whose row 0 lies elsewhere becomes two: row 0 may be known late, and others early.
void split_firsts(std::vector<Step>& steps);

/// Heads that are no whole octets get zeros behind them: where the projection in front of
/// `attention` writes them, and along the depth of `project`, which reads its output. False, and
/// nothing changed, where those do not allow it. True where heads are octets already.
bool make_octets(Program& program, Step& attention, ProductStep& project);

/// Whether queries, keys and values are rows of heads in aligned octets.
bool in_octets(const AttentionStep& step);

}  // namespace assay::backend::cuda
