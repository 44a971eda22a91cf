#pragma once
/// The room for families: one page each that turns a configuration and weights into a graph, and
/// the registry that finds the page for an architecture. A family touches no files, precisions,
/// layouts, devices or preprocessing.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "graph/graph.h"

namespace assay::families {

/// What a family builds from.
struct Request {
  const checkpoint::ModelConfig& config;
  const checkpoint::Weights& weights;
  std::int64_t input_height;
  std::int64_t input_width;
};

struct Family {
  std::string_view name;         ///< "crossvit"
  std::string_view description;  ///< one line, with the paper
  std::vector<std::string_view> architectures;
  /// Builds one of `architectures`.
  graph::Graph (*build)(const Request& request, std::string_view architecture);
};

/// Every family there is.
std::span<const Family> all();

/// Builds the graph of `request.config.architecture`. Throws unsupported for an unknown
/// architecture, naming it and the nearest supported ones.
graph::Graph build(const Request& request);

}  // namespace assay::families
