#include "backend/cuda/chain_rewrite.h"

#include <algorithm>

#include "backend/cuda/chain_layout.h"
#include "backend/cuda/kernels/chain_shape.h"

namespace assay::backend::cuda {
namespace {

constexpr int kOctet = 8;

void narrow(Step& step, Place a, Place out) {
  const double share = static_cast<double>(out.rows) / static_cast<double>(step.product->out.rows);
  step.info.flops =
      static_cast<decltype(step.info.flops)>(static_cast<double>(step.info.flops) * share);
  step.product->a = a;
  step.product->first = {};
  step.product->product.has_first = 0;
  step.product->product.rows = static_cast<std::int32_t>(out.rows);
  step.product->out = out;
  step.reads = {a};
  step.writes = {out};
}

bool touches(const std::vector<Place>& places, const Place& place) {
  return std::ranges::any_of(places, [&](const Place& other) { return overlap(other, place); });
}

/// The product that a step ends with.
ProductStep* last_product(Step& step) {
  if (step.product) return &*step.product;
  if (step.chain == nullptr || !step.chain->members.back().step.product) return nullptr;
  return &*step.chain->members.back().step.product;
}

/// The step that computes queries, keys and values side by side, and for this attention alone.
Step* projection_of(Program& program, const AttentionStep& attention) {
  const std::int64_t width =
      static_cast<std::int64_t>(attention.attention.heads) * attention.attention.head_size;
  const auto reads_it = [&](const Step& step) { return touches(step.reads, attention.q); };
  if (std::ranges::count_if(program.steps, reads_it) != 1) return nullptr;
  const auto made = std::ranges::find_if(
      program.steps, [&](const Step& step) { return touches(step.writes, attention.q); });
  if (made == program.steps.end()) return nullptr;
  const ProductStep* const p = last_product(*made);
  const bool side_by_side = p != nullptr && p->out.width == 3 * width && p->residual.block < 0 &&
                            attention.q == columns_of(p->out, 0, width) &&
                            attention.k == columns_of(p->out, width, width) &&
                            attention.v == columns_of(p->out, 2 * width, width);
  return side_by_side ? &*made : nullptr;
}

/// Whether the step still fits when its last product has `n` columns.
bool fits_with(const Step& step, std::int64_t n) {
  if (step.chain == nullptr) return true;
  ChainPlan plan = *step.chain;
  plan.members.back().step.product->product.n = static_cast<std::int32_t>(n);
  return fits_some_layout(std::move(plan));
}

}  // namespace

bool fits_some_layout(ChainPlan plan) {
  return std::ranges::any_of(kClusters,
                             [&](int cluster) { return lay_out(plan, kFewestRows, cluster); });
}

void split_firsts(std::vector<Step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].product || steps[i].product->first.block < 0) continue;
    const ProductStep p = *steps[i].product;
    if (p.residual.block >= 0) continue;
    Step first = steps[i];
    narrow(first, p.first, rows_of(p.out, 0, 1));
    narrow(steps[i], p.a, rows_of(p.out, 1, p.out.rows - 1));
    steps[i].info.name += ".rest";
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(first));
    ++i;
  }
}

bool in_octets(const AttentionStep& step) {
  const auto aligned = [](const Place& place) {
    return place.offset % kOctet == 0 && place.row_stride % kOctet == 0;
  };
  return step.attention.head_size % kOctet == 0 && aligned(step.q) && aligned(step.k) &&
         aligned(step.v);
}

bool make_octets(Program& program, Step& step, ProductStep& project) {
  AttentionStep& attention = *step.attention;
  if (in_octets(attention)) return true;
  Attention& a = attention.attention;
  Step* const made = projection_of(program, attention);
  if (made == nullptr || project.norm != nullptr) return false;
  const HeadPadding heads{a.head_size, round_up(a.head_size, kOctet)};
  ProductStep& projection = *last_product(*made);
  Place wide = projection.out;
  wide.width = wide.row_stride = projection.out.width / heads.width * heads.padded;
  wide.offset = 0;
  if (!fits_with(*made, wide.width)) return false;
  program.blocks.push_back({wide.rows * wide.width, Store::f16});
  wide.block = static_cast<int>(program.blocks.size()) - 1;
  std::ranges::replace(made->writes, projection.out, wide);
  if (made->chain != nullptr) made->chain->members.back().step.writes = {wide};
  projection.n_heads = heads;
  projection.product.n = static_cast<std::int32_t>(wide.width);
  projection.out = wide;
  project.k_heads = heads;
  project.product.k = project.product.k / heads.width * heads.padded;
  const std::int64_t each = static_cast<std::int64_t>(a.heads) * heads.padded;
  attention.q = columns_of(wide, 0, each);
  attention.k = columns_of(wide, each, each);
  attention.v = columns_of(wide, 2 * each, each);
  a.head_size = heads.padded;
  step.reads = {attention.q, attention.k, attention.v};
  return true;
}

}  // namespace assay::backend::cuda
