#pragma once
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/reference/memory.h"
#include "backend/reference/operators.h"

namespace assay::backend::reference {

/// What the sessions of a plan share.
struct Program {
  std::shared_ptr<const graph::Graph> graph;
  MemoryLayout memory;
  std::vector<std::vector<float>> constants;  ///< by value, empty for activations
  std::vector<std::vector<float>> weights;    ///< by node, where it needs its own (narrow_weight)
  std::size_t scratch = 0;
  std::array<std::size_t, 3> narrow_floats{};  ///< most numbers of a narrow input 0, 1, 2
  int max_batch = 1;
  Normalization normalization;
};

class Session final : public backend::Session {
 public:
  explicit Session(std::shared_ptr<const Program> program);

  void run(const Input& input, int batch, const Results& results) override;
  void trace(const Input& input, int batch, const TraceCallback& callback) override;
  void profile(const Input& input, int batch, std::span<double> seconds) override;

 private:
  /// The numbers of a value for one image of the batch; a constant is the same for all.
  [[nodiscard]] std::span<const float> numbers(graph::ValueId id, int image) const;
  [[nodiscard]] std::span<float> activation(graph::ValueId id, int image);
  [[nodiscard]] std::size_t size_of(graph::ValueId id) const;
  [[nodiscard]] std::size_t place(graph::ValueId id, int image) const;

  void load(const Input& input, int batch);
  void compute(std::size_t node_index, int batch);
  /// The node's inputs for one image, at the node's precision.
  void gather_inputs(std::size_t node_index, int image);
  void store(std::string_view output, std::span<float> result, int batch) const;

  std::shared_ptr<const Program> program_;
  const graph::Graph& graph_;
  std::unique_ptr<float[]> arena_;  // left unset: a batch touches only what it uses
  std::vector<Tensor> inputs_;
  std::vector<double> scratch_;
  std::array<std::vector<float>, 3> narrow_;  ///< operands in the node's precision
};

}  // namespace assay::backend::reference
