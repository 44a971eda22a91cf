#pragma once
/// A graph as JSON, for the bundle. Constants are referred to by an index that the caller maps to
/// stored bytes.
#include <functional>
#include <string>

#include "base/json.h"
#include "graph/graph.h"

namespace assay::graph {

/// The graph without its constants' bytes; constant values carry {"constant": index}, indices
/// counting up in the order of values. The text is canonical: equal graphs give equal bytes.
Json to_json(const Graph& graph);

/// The inverse, for JSON that nobody vouches for: every field is checked, and the result has passed
/// verify(). `constant(index)` gives the stored numbers. Throws corrupt.
Graph from_json(const Json& json, const std::function<Constant(std::size_t index)>& constant);

/// SHA-256, in hexadecimal, of the JSON and of every constant's type and bytes: two graphs with the
/// same one compute the same numbers.
std::string fingerprint(const Graph& graph);

}  // namespace assay::graph
