#include "families/tables.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

namespace assay::families {
namespace {

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, separator);) cells.push_back(cell);
  return cells;
}

std::vector<std::int64_t> shape_of(const std::string& cell) {
  std::vector<std::int64_t> shape;
  if (cell == "scalar") return shape;
  for (const std::string& dim : split(cell, 'x')) shape.push_back(std::stoll(dim));
  return shape;
}

}  // namespace

std::filesystem::path source_dir() { return ASSAY_SOURCE_DIR; }

std::map<std::string, std::string> golden_column(const std::string& table,
                                                 const std::string& architecture) {
  const std::string family = architecture.substr(0, architecture.find('_'));
  std::ifstream file(source_dir() / "tests/golden" / (table + "." + family + ".tsv"));
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split(line, '\t');
  const auto column =
      static_cast<std::size_t>(std::ranges::find(header, architecture) - header.begin());
  std::map<std::string, std::string> cells;
  while (std::getline(file, line)) {
    const std::vector<std::string> row = split(line, '\t');
    if (row.at(column) != "-") cells.emplace(row[0], row[column]);
  }
  return cells;
}

checkpoint::Weights zero_weights(const std::string& architecture) {
  constexpr std::size_t kBytes = 16 << 20;  // more than the largest tensor, shared by all
  const auto zeros = std::make_shared<const std::vector<std::byte>>(kBytes);
  checkpoint::Weights weights;
  for (const auto& [name, cell] : golden_column("model_tensors", architecture)) {
    checkpoint::TensorView view;
    view.name = name;
    view.shape = shape_of(cell);
    view.dtype = cell == "scalar" ? DType::i64 : DType::f16;
    const std::size_t bytes = static_cast<std::size_t>(view.elements()) *
                              static_cast<std::size_t>(size_in_bits(view.dtype)) / 8;
    view.bytes = std::span(*zeros).first(bytes);
    view.owner = zeros;
    weights.add(std::move(view));
  }
  return weights;
}

checkpoint::ModelConfig config_of(const std::string& architecture, int classes) {
  checkpoint::ModelConfig config;
  config.architecture = architecture;
  config.num_classes = classes;
  return config;
}

}  // namespace assay::families
