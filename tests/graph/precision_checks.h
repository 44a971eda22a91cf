#pragma once
/// What the tests of every precision ask of a graph with narrow operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/serialize.h"
#include "graph/toy.h"

namespace assay::graph {

/// The graph that `json` says, with the constants of `original`.
inline Graph read(const Json& json, const Graph& original) {
  std::vector<Constant> constants;
  for (const Value& value : original.values) {
    if (value.constant) constants.push_back(*value.constant);
  }
  return from_json(json, [&](std::size_t index) { return constants.at(index); });
}

/// Whatever one field is replaced with, reading gives a graph or says that the file is corrupt.
inline void expect_no_field_does_harm(const Graph& graph, const std::vector<Json>& values) {
  const Json flat = to_json(graph).flatten();
  for (const auto& [pointer, original] : flat.items()) {
    for (const Json& value : values) {
      Json json = to_json(graph);
      json[Json::json_pointer(pointer)] = value;
      const auto [kind, message] = error_of([&] { verify(read(json, graph)); });
      EXPECT_TRUE(message.empty() || kind == ErrorKind::corrupt) << pointer << value << message;
    }
  }
}

/// Breaks the graph and expects verify() to say so in these words.
template <typename Break>
void expect_refused(Graph graph, const Break& break_it, const std::string& words) {
  break_it(graph);
  const auto [kind, message] = error_of([&] { verify(graph); });
  EXPECT_EQ(kind, ErrorKind::corrupt);
  EXPECT_THAT(message, testing::HasSubstr(words));
}

}  // namespace assay::graph
