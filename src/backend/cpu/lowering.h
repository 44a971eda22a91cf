#pragma once
/// The state of a lowering: where each value lies, and the steps so far. One lower_*.cpp file holds
/// the operators of a kind.
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/layout.h"
#include "backend/cpu/step.h"
#include "graph/graph.h"

namespace assay::backend::cpu {

/// What a lowering makes of a graph.
struct Program {
  std::vector<Block> blocks;
  std::vector<Step> steps;
  ConstantPool constants;
  std::vector<Place> places;  ///< of each value that the plan materializes
  std::int64_t arena_floats = 0;
  std::int64_t scratch_floats = 0;  ///< of each worker
};

class Lowering {
 public:
  Lowering(const graph::Graph& graph, const LowerOptions& options);

  /// Lowers every node and plans the memory.
  Program finish();

  // ---- for the operators ------------------------------------------------------------------------
  [[nodiscard]] const graph::Graph& graph() const { return graph_; }
  [[nodiscard]] const graph::Dims& dims(graph::ValueId value) const {
    return graph_.value(value).dims;
  }
  /// Views instead of copies, values placed as the layout wishes.
  [[nodiscard]] bool fused() const { return fused_; }

  /// Where `value` lies; constants are converted to fp32 and kept on first use.
  Place place_of(graph::ValueId value);
  /// The same numbers without gaps: the value's own place, or that of a copy made by one more step.
  Place dense_place_of(graph::ValueId value, const graph::Node& reader);
  /// Chooses the place of a node's output: as the layout wishes, or a block of its own.
  Place place_output(const graph::Node& node);
  /// A new dense place for numbers of the dims of `value`.
  Place new_place(graph::ValueId value);
  /// A new place of an image [H, W, C] with zeros around it.
  Place new_image_place(const graph::Dims& dims, std::array<std::int64_t, 2> margin);
  /// Lets `node` write its output over `input`, if nothing reads that after it.
  bool reuse(const graph::Node& node, graph::ValueId input);
  /// Makes `place` the place of the node's output without a step: a view of its input.
  void set_place(graph::ValueId value, const Place& place);

  /// The constant's numbers; `role` names it in the message. Throws unsupported where it is none.
  [[nodiscard]] std::vector<float> weight(const graph::Node& node, std::size_t input,
                                          std::string_view role) const;
  /// The same for an optional input: empty where it is kNone or absent.
  [[nodiscard]] std::vector<float> optional_weight(const graph::Node& node, std::size_t input,
                                                   std::string_view role) const;

  /// The tactic for the step that `node` ends: what tuning says, else the first of `choices`. Asked
  /// once a step.
  std::string choose(const graph::Node& node, std::initializer_list<std::string_view> choices);

  /// Where the plan keeps its constants; what is allocated there lives as long as the plan.
  [[nodiscard]] ConstantPool& constants() { return program_.constants; }

  /// Adds a step of `node` that reads and writes `places`.
  Step& add_step(const graph::Node& node, std::string_view tactic, std::vector<Place> places,
                 StepBody body);
  /// Adds a step that copies rows from one place to another of the same rows and width.
  void add_copy(const graph::Node& node, std::string_view tactic, const Place& from,
                const Place& to);

 private:
  /// How many nodes from `first` on are lowered as one step.
  std::size_t group_size(std::size_t first);
  void lower_input();
  /// Throws unsupported where tuning names a step or a tactic that is not there.
  void check_tactics() const;
  Place placed_within(graph::ValueId value);
  /// Whether nothing after the current node reads any value in `block`.
  [[nodiscard]] bool dies_here(int block) const;
  int new_block(std::int64_t floats);
  void zero_margins();
  void plan_memory();

  const graph::Graph& graph_;
  const LowerOptions& options_;
  bool fused_;
  std::vector<Wish> wishes_;
  std::vector<std::vector<std::size_t>> readers_;  ///< indices of the nodes that read each value
  std::size_t node_index_ = 0;
  std::vector<std::string> choices_;  ///< of the step to come
  std::set<std::string> chosen_;      ///< names of the steps that tuning decided
  std::vector<Place> margins_;        ///< images with a margin to be zeroed
  Program program_;
};

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

}  // namespace assay::backend::cpu
