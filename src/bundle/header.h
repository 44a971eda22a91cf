#pragma once
/// The bundle's JSON header, from values and back. docs/bundle-format.md has the schema.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "bundle/bundle.h"
#include "bundle/format.h"

namespace assay::bundle {

/// The header's text. Throws bad_input where a label or the configuration is not UTF-8.
std::string encode_header(const Bundle& bundle, std::span<const Section> sections);

/// Throws unsupported where the header names a feature, and corrupt where it has no such list: a
/// reader looks here before it looks at any other field.
void check_features(const Json& header);

/// The section table. Throws corrupt unless each lies where the ones before it end, inside
/// `data_bytes` in all.
std::vector<Section> decode_sections(const Json& header, std::uint64_t data_bytes);

/// Everything but the graph. Throws corrupt, or unsupported for a precision or optimization level
/// that this build does not know.
Bundle decode_header(const Json& header);

/// The graph, whose constant i is `constant(i)`, held against what the rest of the header says.
/// Throws corrupt.
graph::Graph decode_graph(const Json& header, const Bundle& bundle,
                          const std::function<graph::Constant(std::size_t)>& constant);

}  // namespace assay::bundle
