#include "backend/cuda/chain_layout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cuda/kernels/chain_shape.h"

namespace assay::backend::cuda {
namespace {

constexpr int kChunkTarget = 24 * 1024;  ///< bytes
constexpr int kFloat = 4;

/// How far apart rows are in the two halves of shared memory that stages read and write in turn.
using Pitches = std::array<int, 2>;

/// Rows of `k` numbers as a product of `operand` reads them, whatever they were before.
int row_bytes(int k, Store operand, int steps, bool from_f16) {
  const int as_read = std::max(k * bytes_of(operand), steps * kStepBytes);
  return from_f16 ? std::max(as_read, k * 2) : as_read;
}

int steps_of(const Product& p) { return (p.k * bytes_of(p.operand) + kStepBytes - 1) / kStepBytes; }

/// Whether rows reach the stage as f16, and are made ready there.
bool comes_as_f16(const ChainMember& member) {
  const ProductStep& p = *member.step.product;
  return p.product.operand == Store::f16 || p.norm != nullptr || !member.reads;
}

void set_product(const ChainMember& member, int cluster, ChainStage& s) {
  const ProductStep& p = *member.step.product;
  const Product& product = p.product;
  s.op = StageOp::product;
  s.operand = product.operand;
  s.n = product.n;
  s.k = product.k;
  s.columns = round_up((s.n + cluster - 1) / cluster, 8);
  s.steps = steps_of(product);
  s.split = chain_split(s.columns, s.steps);
  s.epsilon = product.epsilon;
  s.inverse_k = 1.0F / static_cast<float>(product.k);
  s.in_act = product.source_act;
  s.inverse_in_scale = product.inverse_a_scale;
  s.converts = !member.reads && p.norm == nullptr && s.operand == Store::e4m3 ? 1 : 0;
  s.clears = s.k * bytes_of(s.operand) != s.steps * kStepBytes ? 1 : 0;
  s.act = product.act;
  s.has_residual = product.has_residual;
  s.has_view = member.writes ? 1 : 0;
  s.view_row = member.view_row;
}

void set_attention(const ChainMember& member, Chain& chain, ChainStage& s) {
  const Attention& attention = member.step.attention->attention;
  s.op = StageOp::attention;
  chain.attention.in_chain = member.reads ? 1 : 0;
  chain.attention.heads = attention.heads;
  chain.attention.head = attention.head_size;
  chain.attention.keys = attention.keys;
  chain.attention.scale = attention.scale;
}

/// Rows, sequences and source, as the first member has them.
void set_rows(const ChainPlan& plan, Chain& chain) {
  const Step& first = plan.members.front().step;
  if (first.attention) {
    const Attention& attention = first.attention->attention;
    chain.sequences = attention.sequences;
    chain.length = attention.queries;
    chain.map_width = attention.map_width;
    chain.patch = attention.patch;
    if (chain.patch != 0) {
      chain.patches_each = static_cast<float>(chain.patch) / static_cast<float>(chain.map_width);
    }
    chain.source = ChainSource::none;
  } else {
    const ProductStep& p = *first.product;
    chain.length = p.product.rows;
    chain.source =
        p.product.source == Source::convolution ? ChainSource::convolution : ChainSource::rows;
    chain.window = p.product.window;
  }
  chain.sequences_each = 1.0F / static_cast<float>(chain.sequences);
  const int tiles = (chain.length + chain.tile_rows - 1) / chain.tile_rows;
  chain.tiles_each = 1.0F / static_cast<float>(tiles);
}

/// Which half each stage reads (`in`) and writes (`out`), as 0 and 1 for now, and their pitches.
Pitches set_regions(const ChainPlan& plan, Chain& chain) {
  std::vector<int> half(plan.members.size(), 0);  // that the member writes
  Pitches pitches{};
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const ChainMember& member = plan.members[i];
    ChainStage& s = chain.stages[i];
    const bool reads = member.reads;
    s.in = reads ? half[static_cast<std::size_t>(member.from)] : 0;
    s.from = reads ? member.from : -1;
    half[i] = i == 0 && member.step.attention ? 0 : 1 - s.in;
    if (member.step.product) {
      s.in_pitch = chain_pitch(row_bytes(s.k, s.operand, s.steps, comes_as_f16(member)));
    }
    s.out = member.shares ? half[i] : -1;
  }
  // What a member shares lies as its readers read it.
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const ChainMember& member = plan.members[i];
    ChainStage& s = chain.stages[i];
    if (!member.reads) continue;
    ChainStage& from = chain.stages[member.from];
    if (member.step.attention) {
      s.in_pitch = chain_pitch(member.step.attention->attention.heads *
                               member.step.attention->attention.head_size * 2);
    }
    from.out_pitch = s.in_pitch;
    from.out_width = member.step.attention ? from.n : s.k;
    if (member.step.product && !comes_as_f16(member)) {
      from.out_store = Store::e4m3;
      from.out_inverse_scale = s.inverse_in_scale;
    }
  }
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    ChainStage& s = chain.stages[i];
    if (s.in_pitch > 0) {
      int& pitch = pitches[static_cast<std::size_t>(s.in)];
      pitch = std::max(pitch, s.in_pitch);
    }
  }
  return pitches;
}

/// Each stage's bias, scale and LayerNorm, one behind the other. Returns the bytes.
int place_constants(const ChainPlan& plan, Chain& chain) {
  int at = 0;
  const auto take = [&](int numbers) {
    const int begin = at;
    at += round_up(numbers * kFloat, kUnit);
    return begin;
  };
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const ChainMember& member = plan.members[i];
    if (!member.step.product) continue;
    ChainStage& s = chain.stages[i];
    s.bias = take(s.columns);
    s.scale = s.operand == Store::e4m3 ? take(s.columns) : -1;
    s.norm = member.step.product->norm != nullptr && !member.again ? take(2 * s.k) : -1;
  }
  return at;
}

/// The chunks of all stages one behind the other from `begin` on, and round again at the end: a
/// chunk then waits for those that lay where it goes.
bool place_chunks(int begin, Chain& chain) {
  const int room = kMostChainShared - begin;
  int at = 0;
  int end = 0;
  int from = 0;
  for (int i = 0; i < chain.stage_count; ++i) {
    ChainStage& s = chain.stages[i];
    if (s.op != StageOp::product) continue;
    s.chunk_steps = std::clamp(kChunkTarget / chain_step_bytes(s), 1, s.steps);
    for (int step = 0; step < s.steps; step += s.chunk_steps) {
      const int bytes = std::min(s.chunk_steps, s.steps - step) * chain_step_bytes(s);
      if (at + bytes > room) at = 0;
      if (bytes * 2 > room || chain.chunk_count == kMostChunks) return false;
      ChainChunk& chunk = chain.chunks[chain.chunk_count];
      chunk.from = from;
      chunk.to = begin + at;
      chunk.bytes = bytes;
      for (int j = 0; j < chain.chunk_count; ++j) {
        const ChainChunk& other = chain.chunks[j];
        if (other.to < chunk.to + bytes && chunk.to < other.to + other.bytes) {
          chunk.after = static_cast<std::int16_t>(j);
        }
      }
      if (chunk.after >= 0) chain.chunks[chunk.after].signals = 1;
      ++chain.chunk_count;
      at += bytes;
      from += bytes;
      end = std::max(end, at);
    }
  }
  chain.shared_bytes = begin + end;
  return true;
}

bool place_memory(const ChainPlan& plan, const Pitches& pitches, Chain& chain) {
  const std::array<int, 2> bytes{pitches[0] * chain.tile_rows, pitches[1] * chain.tile_rows};
  int partial = 0;
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    ChainStage& s = chain.stages[i];
    s.in = s.in == 0 ? 0 : bytes[0];
    if (s.out >= 0) s.out = s.out == 0 ? 0 : bytes[0];
    if (s.op == StageOp::product) {
      partial = std::max(partial, chain_partial_bytes(s, chain.tile_rows));
    }
  }
  chain.partial_at = round_up(bytes[0] + bytes[1], 128);
  int end = chain.partial_at + partial;
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    if (chain.stages[i].op != StageOp::attention) continue;
    // The first stage's scratch lies over what later stages use, behind its output.
    chain.attention.scratch = i == 0 ? chain.stages[0].out_pitch * chain.tile_rows : end;
    chain.attention.scratch = round_up(chain.attention.scratch, 128);
    end = std::max(end,
                   chain.attention.scratch + chain_scratch_bytes(chain.attention, chain.tile_rows));
  }
  chain.constants_at = round_up(end, 128);
  return place_chunks(round_up(chain.constants_at + chain.constants_bytes, 128), chain);
}

}  // namespace

bool lay_out(ChainPlan& plan, int tile_rows, int cluster) {
  Chain chain;
  chain.tile_rows = tile_rows;
  chain.cluster = cluster;
  chain.stage_count = static_cast<std::int32_t>(plan.members.size());
  set_rows(plan, chain);
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const ChainMember& member = plan.members[i];
    if (member.step.attention) {
      set_attention(member, chain, chain.stages[i]);
    } else {
      set_product(member, cluster, chain.stages[i]);
      const ChainStage& s = chain.stages[i];
      const int widest_norm = tile_rows == 64 ? 256 : kWidestChainNorm;
      if (chain_step_bytes(s) / kPieceBytes > kChainWarps) return false;
      const bool unready = member.step.product->norm != nullptr || s.converts != 0;
      if (unready && s.k > widest_norm) return false;
    }
  }
  const Pitches pitches = set_regions(plan, chain);
  chain.constants_bytes = place_constants(plan, chain);
  if (!place_memory(plan, pitches, chain)) return false;
  plan.chain = chain;
  return true;
}

double estimated_cycles(const Chain& chain, int batch, int blocks_at_once) {
  // Of a stage: waiting for others, making rows ready, finishing sums. Of a multiprocessor: bytes
  // of weights a cycle, and of all together from L2. Of a piece: the products with 16 rows.
  constexpr double kStage = 900;
  constexpr double kBytesEach = 40;
  constexpr double kBytesAll = 3000;
  constexpr double kPiece = 7;
  const double weights = static_cast<double>(chain_weight_bytes(chain));
  const double tiles = chain_tiles(chain, batch);
  const double waves = std::ceil(tiles * chain.cluster / blocks_at_once);
  const double products = weights / kPieceBytes * chain.tile_rows / 16 * kPiece;
  const double each = chain.stage_count * kStage + std::max(products, weights / kBytesEach);
  return std::max(waves * each, tiles * weights * chain.cluster / kBytesAll);
}

}  // namespace assay::backend::cuda
