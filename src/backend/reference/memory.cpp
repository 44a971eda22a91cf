#include "backend/reference/memory.h"

#include <algorithm>

namespace assay::backend::reference {
namespace {

struct Buffer {
  std::size_t size = 0;
  bool taken = false;
};

/// The smallest free buffer that is large enough, else the largest free one grown, else a new one.
std::size_t take(std::vector<Buffer>& buffers, std::size_t size) {
  std::size_t best = buffers.size();
  const auto better = [&](const Buffer& a, const Buffer& b) {
    const bool a_fits = a.size >= size;
    const bool b_fits = b.size >= size;
    if (a_fits != b_fits) return a_fits;
    return a_fits ? a.size < b.size : a.size > b.size;
  };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].taken) continue;
    if (best == buffers.size() || better(buffers[i], buffers[best])) best = i;
  }
  if (best == buffers.size()) buffers.emplace_back();
  buffers[best].size = std::max(buffers[best].size, size);
  buffers[best].taken = true;
  return best;
}

/// The last node that reads each value; an output's is behind every node.
std::vector<std::size_t> last_readers(const graph::Graph& graph) {
  std::vector<std::size_t> last(graph.values.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const graph::ValueId id : graph.nodes[i].inputs) {
      if (id != graph::kNone) last[id] = i;
    }
    last[graph.nodes[i].output] = i;  // a value that nobody reads is free after it was computed
  }
  for (const graph::Output& output : graph.outputs) last[output.value] = graph.nodes.size();
  return last;
}

}  // namespace

MemoryLayout lay_out(const graph::Graph& graph) {
  const std::vector<std::size_t> last = last_readers(graph);
  std::vector<Buffer> buffers;
  std::vector<std::size_t> buffer_of(graph.values.size(), MemoryLayout::kNowhere);
  const auto place = [&](graph::ValueId id) {
    const auto size = static_cast<std::size_t>(graph::elements(graph.value(id).dims));
    buffer_of[id] = take(buffers, size);
  };
  place(graph.input);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    place(graph.nodes[i].output);
    const auto release = [&](graph::ValueId id) {
      if (id == graph::kNone || buffer_of[id] == MemoryLayout::kNowhere) return;
      if (last[id] == i) buffers[buffer_of[id]].taken = false;
    };
    for (const graph::ValueId id : graph.nodes[i].inputs) release(id);
    release(graph.nodes[i].output);
  }

  std::vector<std::size_t> starts;
  MemoryLayout layout;
  for (const Buffer& buffer : buffers) {
    starts.push_back(layout.size);
    layout.size += buffer.size;
  }
  for (const std::size_t buffer : buffer_of) {
    layout.offset.push_back(buffer == MemoryLayout::kNowhere ? buffer : starts[buffer]);
  }
  return layout;
}

}  // namespace assay::backend::reference
