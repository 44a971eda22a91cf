#pragma once
/// The state of a lowering: where each value lies, and the steps so far. One lower_*.cpp file holds
/// the operators of a kind. Needs no device.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/consumers.h"
#include "backend/cuda/layout.h"
#include "backend/cuda/step.h"
#include "graph/graph.h"

namespace assay::backend::cuda {

/// What a lowering makes of a graph.
struct Program {
  std::vector<Block> blocks;
  std::vector<Step> steps;  ///< in the order of their phases
  ConstantPool constants;
  std::vector<Place> places;                          ///< of each value that the plan materializes
  std::map<std::string, Place, std::less<>> outputs;  ///< dense, f32
  std::int64_t arena_bytes = 0;                       ///< for one image
  int phases = 0;
};

/// The numbers of a value one by one: dims, and how far each of them reaches in memory.
struct Strided {
  Place place;  ///< the block, and where the first number lies
  graph::Dims dims;
  graph::Dims strides;
};

class Lowering {
 public:
  /// All three outlive it.
  Lowering(const graph::Graph& graph, const LowerOptions& options);

  /// Lowers every node and plans phases and memory.
  Program finish();

  // ---- for the operators ------------------------------------------------------------------------
  [[nodiscard]] const graph::Graph& graph() const { return graph_; }
  [[nodiscard]] const graph::Dims& dims(graph::ValueId value) const {
    return graph_.value(value).dims;
  }
  /// Views instead of copies, values placed as the layout wishes, operators folded into products.
  [[nodiscard]] bool fused() const { return fused_; }

  /// Where `value` lies; one that was put off is computed now.
  Place place_of(graph::ValueId value);
  /// The same with rows in the value's own order, for what does not work row by row.
  Place ordered_place_of(graph::ValueId value, const graph::Node& reader);
  Place ordered(const Place& place, const graph::Node& reader);
  /// The same numbers without gaps.
  Place dense_place_of(graph::ValueId value, const graph::Node& reader);
  /// The node that computes `value`, if that is put off: products fold it in even where it was
  /// computed for another reader, so that they need not wait. Else null.
  [[nodiscard]] const graph::Node* put_off(graph::ValueId value) const { return put_off_[value]; }
  /// The value, put off itself, whose rows those of `value` are once its map is folded; or kNone.
  [[nodiscard]] graph::ValueId refolded(graph::ValueId value) const {
    const auto found = refolded_.find(value);
    return found == refolded_.end() ? graph::kNone : found->second;
  }

  /// How the numbers at a place are stored.
  [[nodiscard]] Store store_at(const Place& place) const {
    return program_.blocks[static_cast<std::size_t>(place.block)].store;
  }
  /// Chooses the place of a node's output: as the layout wishes, or a block of its own. Its rows
  /// are in the order of those of `like`.
  Place place_output(const graph::Node& node, const Place& like = {});
  /// The same for an image that has zeros behind its channels, where its readers like that better.
  Place place_image(const graph::Node& node);
  [[nodiscard]] bool is_padded(graph::ValueId image) const { return padded_.contains(image); }
  /// A dense place for numbers that no value stands for.
  Place new_place(std::int64_t rows, std::int64_t width);
  /// Makes `place` the place of a value without a step: a view.
  void set_place(graph::ValueId value, const Place& place);

  [[nodiscard]] ConstantPool& constants() { return program_.constants; }
  /// The constant input of a node, on the device; nowhere where it is left off.
  Kept keep(const graph::Node& node, std::size_t input, std::string_view role);

  /// Adds a step of `node`.
  Step& add_step(const graph::Node& node, std::string_view tactic, std::vector<Place> reads,
                 std::vector<Place> writes,
                 std::function<Instruction(const Addresses& at)> instruction);
  /// Adds a step that copies numbers one by one, between the same dims.
  void add_copy(const graph::Node& node, const Strided& from, const Strided& to);
  /// Adds a step that copies rows.
  void add_copy(const graph::Node& node, const Place& from, const Place& to);
  /// A value of `dims` at `place`, number by number.
  [[nodiscard]] static Strided strided(const Place& place, const graph::Dims& dims);

 private:
  void finish_step(Step& step);
  void lower_input();
  void lower(const graph::Node& node);
  /// How many nodes from `first` on only unfold or fold a map, and so are no steps.
  std::size_t skip_fold(std::size_t first);
  /// How many nodes from `first` on are one step of their own kind: the stem, a mean and its linear
  /// layer, an inverted residual; 0: none.
  std::size_t lower_together(std::size_t first);
  [[nodiscard]] bool can_put_off(const graph::Node& node) const;
  void lower_outputs();
  Place constant_place(graph::ValueId value);
  Place placed_within(graph::ValueId value);
  [[nodiscard]] Store store_of(graph::ValueId value) const;
  int new_block(std::int64_t numbers, Store store);
  void find_materialized();
  void plan_phases();
  void plan_memory();

  const graph::Graph& graph_;
  const LowerOptions& options_;
  bool fused_;
  Store store_;  ///< of activations
  Consumers consumers_;
  const graph::Node* stem_ = nullptr;  ///< computes what it needs of the input itself
  std::vector<Wish> wishes_;
  std::vector<const graph::Node*> put_off_;
  std::map<graph::ValueId, graph::ValueId> refolded_;
  std::set<graph::ValueId> padded_;  ///< images with zeros behind their channels
  /// Values in the order in which they were lowered, each with how many steps there were then.
  std::vector<std::pair<graph::ValueId, std::size_t>> lowered_;
  Program program_;
};

/// How `node`, a convolution, looks at its image.
Window window_of(const Lowering& lowering, const graph::Node& node);

/// How many numbers lie in a row of a value.
std::int64_t width_of(const graph::Dims& dims);

/// The instructions' activation.
Act act_of(graph::Activation activation);

/// "f16", "e4m3", ...
std::string_view name(Store store);

// One function for each operator.
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Conv2d& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Linear& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::LayerNorm& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::BatchNorm& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Attention& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Activate& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Softmax& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Add& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Mul& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Concat& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Slice& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Reshape& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Transpose& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Resize& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::Mean& op);
void lower_node(Lowering& lowering, const graph::Node& node, const graph::FakeQuantize& op);

}  // namespace assay::backend::cuda
