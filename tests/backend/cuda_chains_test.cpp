/// Chains of the cuda backend: which steps they join, how they lie in shared memory, and how their
/// weights are packed. That they compute what the reference backend does is for the differential
/// tests, which need a device.
#include <gmock/gmock.h>

#include <cstring>

#include "backend/cpu_random_graph.h"
#include "backend/cuda/chain_layout.h"
#include "backend/cuda/kernels/chain_shape.h"
#include "backend/cuda/lowering.h"
#include "backend/cuda_support.h"
#include "numerics/fp16.h"

namespace assay::backend::cuda {
namespace {

using cpu::GraphMaker;
using graph::Activation;
using graph::Precision;
using graph::ValueId;

graph::Graph at_fp16(graph::Graph graph) {
  Trace ones;
  for (const graph::Value& value : graph.values) ones[value.name] = {1};
  for (const Way& way : kWays) {
    if (way.precision != Precision::fp16) continue;
    for (const std::string& name : layers_of(graph)) narrow(graph, name, way, ones);
    break;
  }
  return graph;
}

/// Tokens, two transformer blocks of `width` with two heads, and a last layer.
struct Blocks {
  graph::Graph graph;
  std::vector<ValueId> attentions;
  ValueId between = graph::kNone;  ///< what the second block reads
};

Blocks blocks(std::int64_t width, bool between_is_output = false) {
  GraphMaker make(static_cast<unsigned>(width));
  Blocks made;
  ValueId x = make.linear(make.node(graph::Reshape{{24, 3}}, {make.input({4, 6, 3})}), width);
  for (int block = 0; block < 2; ++block) {
    if (block == 1) made.between = x;
    const ValueId qkv = make.linear(make.layer_norm(x), 3 * width);
    std::vector<ValueId> parts;
    for (std::int64_t i = 0; i < 3; ++i) {
      parts.push_back(make.node(graph::Slice{1, i * width, (i + 1) * width}, {qkv}));
    }
    const ValueId mixed = make.node(graph::Attention{2, 0.3}, parts);
    made.attentions.push_back(mixed);
    x = make.linear(mixed, width, true, Activation::none, x);
    const ValueId wide = make.linear(make.layer_norm(x), 2 * width, true, Activation::gelu);
    x = make.linear(wide, width, true, Activation::none, x);
  }
  made.graph = at_fp16(make.finish(make.linear(make.layer_norm(x), 8)));
  if (between_is_output) made.graph.outputs.push_back({"features", made.between});
  return made;
}

Program lowered(const graph::Graph& graph, int level = 1, int batch = 1) {
  LowerOptions options;
  options.optimization_level = level;
  options.max_batch = batch;
  return Lowering(graph, options).finish();
}

std::vector<const ChainPlan*> chains_of(const Program& program) {
  std::vector<const ChainPlan*> chains;
  for (const Step& step : program.steps) {
    if (step.chain != nullptr) chains.push_back(step.chain.get());
  }
  return chains;
}

std::vector<std::string> operations_of(const Program& program) {
  std::vector<std::string> operations;
  for (const Step& step : program.steps) operations.push_back(step.info.operation);
  return operations;
}

TEST(CudaChains, JoinTransformerBlocksAtTheirAttentions) {
  const Blocks made = blocks(32);
  const Program program = lowered(made.graph);
  EXPECT_THAT(operations_of(program),
              testing::IsSupersetOf({"attention+linear+linear+linear+linear",
                                     "attention+linear+linear+linear+linear"}));
  // What a block leaves is read by the next one's residual, what lies within by nobody.
  const ChainPlan& chain = *chains_of(program)[1];
  ASSERT_EQ(chain.members.size(), 5U);
  EXPECT_TRUE(chain.members[0].step.attention.has_value());
  const auto writes = [&](std::size_t i) { return chain.members[i].writes; };
  EXPECT_FALSE(writes(0));
  EXPECT_TRUE(writes(1));  // the residual of its own second product
  EXPECT_FALSE(writes(2));
  EXPECT_TRUE(writes(3));
  EXPECT_TRUE(writes(4));
}

TEST(CudaChains, AreNoneWithoutFusion) {
  EXPECT_TRUE(chains_of(lowered(blocks(32).graph, 0)).empty());
}

TEST(CudaChains, CountWhatTheirStepsDo) {
  const Blocks made = blocks(32);
  std::uint64_t apart = 0;
  std::uint64_t together = 0;
  for (const Step& step : lowered(made.graph, 0).steps) apart += step.info.weight_bytes;
  for (const Step& step : lowered(made.graph).steps) together += step.info.weight_bytes;
  EXPECT_EQ(together, apart);
}

TEST(CudaChains, WriteWhatTheGraphGivesAway) {
  const Blocks made = blocks(32, true);
  const Program program = lowered(made.graph);
  const bool complete = std::ranges::any_of(program.steps, [&](const Step& step) {
    return std::ranges::count(step.materialized, made.between) == 1;
  });
  EXPECT_TRUE(complete);
}

/// Heads of 12 are no octets: queries, keys and values get zeros behind each head, and the
/// projection behind the attention counts them along its depth.
TEST(CudaChains, PadHeadsToOctets) {
  const Program program = lowered(blocks(24).graph);
  const std::vector<const ChainPlan*> chains = chains_of(program);
  const auto first = std::ranges::find_if(
      chains, [](const ChainPlan* chain) { return chain->members[0].step.attention.has_value(); });
  ASSERT_NE(first, chains.end());
  const ChainPlan& chain = **first;
  EXPECT_EQ(chain.chain.attention.head, 16);
  EXPECT_EQ(chain.chain.stages[1].k, 32);
  const ProductStep& project = *chain.members[1].step.product;
  EXPECT_EQ(project.k_heads.width, 12);
  EXPECT_EQ(project.k_heads.padded, 16);
  const AttentionStep& attention = *chain.members[0].step.attention;
  EXPECT_EQ(attention.k.offset - attention.q.offset, 32);
  EXPECT_EQ(attention.q.row_stride, 96);
}

TEST(CudaChains, PadWeightsWithZeros) {
  HostWeight weight;
  weight.n = 4;
  weight.k = 2;
  weight.operand = Store::f16;
  weight.bias = {1, 2, 3, 4};
  for (int i = 1; i <= 16; ++i) weight.rows.push_back(std::byte(i));
  const HostWeight wide = with_padded_heads(weight, {2, 3}, {1, 2});
  EXPECT_EQ(wide.n, 6);
  EXPECT_EQ(wide.k, 4);
  EXPECT_THAT(wide.bias, testing::ElementsAre(1, 2, 0, 3, 4, 0));
  ASSERT_EQ(wide.rows.size(), 48U);
  const auto at = [&](std::size_t row, std::size_t byte) {
    return static_cast<int>(wide.rows[row * 8 + byte]);
  };
  EXPECT_EQ(at(0, 0), 1);
  EXPECT_EQ(at(0, 2), 0);
  EXPECT_EQ(at(0, 4), 3);
  EXPECT_EQ(at(2, 0), 0);
  EXPECT_EQ(at(3, 0), 9);
}

/// Each stage's rows, the sums and the constants lie apart; chunks tile the weights in order, and
/// one that takes another's place waits for the newest that lay there.
TEST(CudaChains, LieApartInSharedMemory) {
  const Program program = lowered(blocks(128).graph);
  for (const ChainPlan* plan : chains_of(program)) {
    for (const int cluster : kClusters) {
      for (const int rows : kTileRows) {
        ChainPlan copy = *plan;
        if (!lay_out(copy, rows, cluster)) continue;
        const Chain& c = copy.chain;
        EXPECT_LE(c.shared_bytes, kMostChainShared);
        int from = 0;
        for (int i = 0; i < c.chunk_count; ++i) {
          const ChainChunk& chunk = c.chunks[i];
          EXPECT_EQ(chunk.from, from);
          from += chunk.bytes;
          EXPECT_GE(chunk.to, c.constants_at + c.constants_bytes);
          EXPECT_LE(chunk.to + chunk.bytes, c.shared_bytes);
          for (int j = 0; j < i; ++j) {
            const ChainChunk& other = c.chunks[j];
            if (other.to < chunk.to + chunk.bytes && chunk.to < other.to + other.bytes) {
              EXPECT_GE(chunk.after, j);
            }
          }
          if (chunk.after >= 0) {
            EXPECT_EQ(c.chunks[chunk.after].signals, 1);
          }
        }
        EXPECT_EQ(from, chain_weight_bytes(c));
        for (int i = 0; i < c.stage_count; ++i) {
          const ChainStage& s = c.stages[i];
          if (s.op != StageOp::product) continue;
          EXPECT_LE(s.in + s.in_pitch * rows, c.partial_at);
          EXPECT_LE(c.partial_at + chain_partial_bytes(s, rows), c.constants_at);
          EXPECT_EQ(s.in_pitch / 16 % 2, 1) << "rows of one column must lie in different banks";
          if (s.out >= 0) {
            EXPECT_NE(s.out, s.in);
          }
        }
      }
    }
  }
}

/// The first stage of a chain whose weight counts up, read back as the kernel reads it: lane l has
/// four neighbouring columns of its sums, and so the columns 4 (l / 8) + l / 4 % 2 of both strips.
TEST(CudaChains, PackWeightsAsLanesTakeThem) {
  GraphMaker make(3);
  const ValueId tokens = make.node(graph::Reshape{{24, 3}}, {make.input({4, 6, 3})});
  const ValueId wide = make.linear(tokens, 16);
  const graph::Graph graph = at_fp16(make.finish(make.linear(make.linear(wide, 16), 8)));
  const Program program = lowered(graph);
  const std::vector<const ChainPlan*> chains = chains_of(program);
  ASSERT_FALSE(chains.empty());
  const ChainPlan& plan = *chains.front();
  const ProductStep& p = *plan.members[0].step.product;
  const HostWeight weight = host_weight(graph, *p.node, 0);
  ASSERT_EQ(weight.k % 16, 0);
  const std::byte* const packed = program.constants.bytes().data() + plan.weights.offset;
  const ChainStage& s = plan.chain.stages[0];
  for (int lane = 0; lane < 32; ++lane) {
    for (int word = 0; word < 4; ++word) {
      const int column = lane / 8 * 4 + word / 2 * 2 + lane / 4 % 2;
      if (column >= s.columns) continue;
      const int depth = word % 2 * 8 + lane % 4 * 2;
      EXPECT_EQ(std::memcmp(packed + (lane * 4 + word) * 4,
                            weight.rows.data() + (column * weight.k + depth) * 2, 4),
                0)
          << "lane " << lane << " word " << word;
    }
  }
}

}  // namespace
}  // namespace assay::backend::cuda
