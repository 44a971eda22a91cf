#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "graph/serialize.h"

namespace assay::graph {

std::string fingerprint(const Graph& graph) {
  std::string text = to_json(graph).dump();
  for (const Value& value : graph.values) {
    if (!value.constant) continue;
    text += '\n';
    text += name(value.constant->dtype);
    text += ' ';
    text += sha256_hex(value.constant->bytes);
  }
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace assay::graph
