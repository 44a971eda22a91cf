/// A chain's weights and constants in the order in which its blocks want them.
#include <algorithm>

#include "backend/cuda/chain_layout.h"
#include "backend/cuda/kernels/chain_shape.h"

namespace assay::backend::cuda {
namespace {

constexpr int kFloat = 4;

/// What the tensor cores' lanes take of rows [first, first + 16), for 32 bytes of depth: see
/// mma.cuh's multiply_add. Both strips of columns alternate in twos, so that the sums that a lane
/// gets are of four neighbouring columns.
void pack_piece(const HostWeight& weight, int first, int last, int step, std::byte* to) {
  const int row_bytes = weight.k * bytes_of(weight.operand);
  constexpr int kWord = 4;
  for (int lane = 0; lane < 32; ++lane) {
    for (int word = 0; word < 4; ++word, to += kWord) {
      const int row = first + lane / 8 * 4 + word / 2 * 2 + lane / 4 % 2;
      const int byte = step * kStepBytes + word % 2 * 16 + lane % 4 * kWord;
      if (row >= last) continue;
      for (int i = 0; i < kWord && byte + i < row_bytes; ++i) {
        to[i] = weight.rows[static_cast<std::size_t>(row) * static_cast<std::size_t>(row_bytes) +
                            static_cast<std::size_t>(byte + i)];
      }
    }
  }
}

void pack_stage(const HostWeight& weight, const ChainStage& s, int rank, std::byte* to) {
  const int begin = rank * s.columns;
  const int last = std::min(begin + s.columns, weight.n);
  const int pieces = round_up(s.columns, kPieceColumns) / kPieceColumns;
  for (int step = 0; step < s.steps; ++step) {
    for (int piece = 0; piece < pieces; ++piece, to += kPieceBytes) {
      pack_piece(weight, begin + piece * kPieceColumns, last, step, to);
    }
  }
}

/// Numbers [begin, begin + count), as far as there are any.
void copy_part(std::span<const float> from, int begin, int count, float* to) {
  const int size = static_cast<int>(from.size());
  const int first = std::min(begin, size);
  std::copy_n(from.begin() + first, std::min(count, size - first), to);
}

}  // namespace

void pack(const graph::Graph& graph, ConstantPool& pool, ChainPlan& plan) {
  const Chain& chain = plan.chain;
  const auto each = static_cast<std::size_t>(chain_weight_bytes(chain));
  const auto ranks = static_cast<std::size_t>(chain.cluster);
  std::vector<std::byte> weights(each * ranks);
  const std::size_t constants_each = static_cast<std::size_t>(chain.constants_bytes) / kFloat;
  std::vector<float> constants(constants_each * ranks);
  std::size_t at = 0;
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const ChainStage& s = chain.stages[i];
    if (s.op != StageOp::product) continue;
    const ProductStep& p = *plan.members[i].step.product;
    const HostWeight weight =
        with_padded_heads(host_weight(graph, *p.node, p.channels_padded), p.n_heads, p.k_heads);
    for (int rank = 0; rank < chain.cluster; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      pack_stage(weight, s, rank, weights.data() + r * each + at);
      float* const to = constants.data() + r * constants_each;
      copy_part(weight.bias, rank * s.columns, s.columns, to + s.bias / kFloat);
      if (s.scale >= 0) copy_part(weight.scale, rank * s.columns, s.columns, to + s.scale / kFloat);
      if (s.norm >= 0) {
        copy_part(constant_input(graph, *p.norm, 1, "weight"), 0, s.k, to + s.norm / kFloat);
        copy_part(constant_input(graph, *p.norm, 2, "bias"), 0, s.k, to + s.norm / kFloat + s.k);
      }
    }
    at += static_cast<std::size_t>(chain_step_bytes(s) * s.steps);
  }
  plan.weights = pool.keep(std::span<const std::byte>(weights));
  plan.constants = pool.keep(std::span<const float>(constants));
  plan.chain.weights_stride = static_cast<std::int64_t>(each);
}

}  // namespace assay::backend::cuda
