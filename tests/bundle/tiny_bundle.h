#pragma once
/// A network small enough to damage exhaustively, and bundles taken apart and put together again
/// with right checksums.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "bundle/bundle.h"
#include "bundle/format.h"
#include "bundle/reader.h"
#include "graph/graph.h"

namespace assay::test {

/// This process's own folder, gone when it ends: test programs of several builds may run at once.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::path(testing::TempDir()) / ("assay." + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A path of this test's own.
inline std::filesystem::path temporary(const std::string& name) {
  static const TemporaryFolder root;
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string folder = std::string(test->test_suite_name()) + "." + test->name();
  for (char& c : folder)
    if (c == '/') c = '_';
  std::filesystem::create_directories(root.path() / folder);
  return root.path() / folder / name;
}

inline graph::ValueId add_constant(graph::Graph& graph, const std::string& name, graph::Dims dims,
                                   std::vector<float> numbers) {
  graph.values.push_back({name, std::move(dims), graph::make_constant(std::move(numbers))});
  return static_cast<graph::ValueId>(graph.values.size() - 1);
}

inline graph::ValueId add_node(graph::Graph& graph, const std::string& name,
                               const graph::Operator& op, std::vector<graph::ValueId> inputs,
                               graph::Dims dims) {
  const auto output = static_cast<graph::ValueId>(graph.values.size());
  graph.values.push_back({name + ".out", std::move(dims), std::nullopt});
  graph.nodes.push_back({name, op, std::move(inputs), output});
  return output;
}

/// Mean colour of `side` × `side` pixels (features) through a linear layer to three logits.
inline graph::Graph tiny_graph(std::int64_t side = 4) {
  graph::Graph graph;
  graph.name = "tiny";
  graph.values.push_back({"input", {side, side, 3}, std::nullopt});
  graph.input = 0;
  const auto features = add_node(graph, "pool", graph::Mean{{0, 1}}, {graph.input}, {3});
  const auto weight =
      add_constant(graph, "head.weight", {3, 3}, {1, -0.5F, 0, 0, 1, -0.5F, -0.5F, 0, 1});
  const auto bias = add_constant(graph, "head.bias", {3}, {0.25F, 0, -0.25F});
  const auto logits = add_node(graph, "head", graph::Linear{}, {features, weight, bias}, {3});
  graph.outputs = {{"logits", logits}, {"features", features}};
  return graph;
}

inline bundle::Bundle tiny_bundle(std::int64_t side = 4) {
  bundle::Bundle bundle;
  bundle.graph = std::make_shared<const graph::Graph>(tiny_graph(side));
  bundle.transform.input_height = static_cast<int>(side);
  bundle.transform.input_width = static_cast<int>(side);
  bundle.labels = {"red", "green", "blue"};
  bundle.max_batch = 2;
  bundle.provenance = {"tiny", "test", {{"config.json", 2, std::string(64, 'a')}},
                       "r1",   "{}",   "assay test"};
  return bundle;
}

using Bytes = std::vector<std::byte>;

inline Bytes file_bytes(const std::filesystem::path& path) {
  return read_file(path, std::uint64_t{1} << 30);
}

inline void put_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

inline Bytes bytes_of(const bundle::Bundle& bundle) {
  const auto path = temporary("whole.assay");
  bundle::write(bundle, path);
  return file_bytes(path);
}

/// A bundle's two variable parts.
struct Parts {
  std::string header;
  Bytes data;
};

inline Parts take_apart(const Bytes& file) {
  const bundle::Preamble preamble = bundle::decode_preamble(file);
  const auto* header = reinterpret_cast<const char*>(file.data() + bundle::kPreambleBytes);
  return {std::string(header, preamble.header_bytes),
          Bytes(file.begin() + static_cast<std::ptrdiff_t>(preamble.data_begin()), file.end())};
}

/// A file whose every checksum outside the header's own table is right.
inline Bytes put_together(const Parts& parts) {
  bundle::Preamble preamble;
  preamble.header_bytes = static_cast<std::uint32_t>(parts.header.size());
  preamble.header_checksum = xxh3_64(std::as_bytes(std::span(parts.header)));
  preamble.file_bytes = preamble.data_begin() + parts.data.size();
  const auto begin = bundle::encode(preamble);
  const auto header = std::as_bytes(std::span(parts.header));
  Bytes file(preamble.file_bytes);
  std::ranges::copy(begin, file.begin());
  std::ranges::copy(header, file.begin() + bundle::kPreambleBytes);
  std::ranges::copy(parts.data, file.begin() + static_cast<std::ptrdiff_t>(preamble.data_begin()));
  return file;
}

/// The kind and message that reading `file` ends with; no kind where it is accepted.
struct Outcome {
  std::optional<ErrorKind> kind;
  std::string message;
};

inline Outcome read_outcome(const Bytes& file) {
  try {
    bundle::Reader reader(file, nullptr);
    (void)bundle::read_all(reader);
    return {};
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
}

/// The same through a file "read.assay".
inline Outcome read_file_outcome(const Bytes& file) {
  const auto path = temporary("read.assay");
  put_file(path, file);
  try {
    (void)bundle::read(path);
    return {};
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
}

}  // namespace assay::test
