#include "backend/cuda/chain_rules.h"

#include "backend/cuda/kernels/chain_shape.h"

namespace assay::backend::cuda {
namespace {

constexpr int kOctet = 8;
constexpr int kQuad = 4;

/// Whether rows begin at whole units of `numbers`.
bool aligned(const Place& place, std::int64_t numbers) {
  return place.offset % numbers == 0 && place.row_stride % numbers == 0;
}

}  // namespace

bool same_rows(const Place& a, const Place& b) {
  return a.block == b.block && a.offset == b.offset && a.rows == b.rows && a.width == b.width &&
         a.row_stride == b.row_stride;
}

std::optional<int> first_row(const ProductStep& p, const Place& whole) {
  if (same_rows(p.a, whole)) return 0;
  if (whole.rows < 2 || !same_rows(p.a, rows_of(whole, 1, whole.rows - 1))) return std::nullopt;
  return p.residual.block < 0 ? std::optional(1) : std::nullopt;
}

bool ChainRules::octets(const Place& place) const {
  return place.block < 0 || (block_of(place).store == Store::f16 && aligned(place, kOctet));
}

bool ChainRules::quads(const Place& place) const {
  if (place.block < 0) return true;
  const Block& block = block_of(place);
  const bool numbers = block.store == Store::f16 || block.store == Store::f32;
  return numbers && !block.constant && aligned(place, kQuad);
}

bool ChainRules::can_join(const Step& step) const {
  if (!step.product || step.product->first.block >= 0) return false;
  const ProductStep& p = *step.product;
  const Product& product = p.product;
  if (product.operand != Store::f16 && product.operand != Store::e4m3) return false;
  if (product.n % kQuad != 0 || product.k % kOctet != 0 || !quads(p.out)) return false;
  if (p.residual.block >= 0 && (!quads(p.residual) || block_of(p.residual).store != Store::f16)) {
    return false;
  }
  return p.norm == nullptr || product.k <= kWidestChainNorm;
}

bool ChainRules::can_begin(const Step& step) const {
  if (!can_join(step)) return false;
  const ProductStep& p = *step.product;
  if (!octets(p.a)) return false;
  switch (p.product.source) {
    case Source::rows:
      return p.product.operand == Store::f16 || p.product.k <= kWidestChainNorm;
    case Source::layer_norm:
      return true;
    case Source::convolution:
      return p.product.operand == Store::f16 && p.product.window.channels % kOctet == 0;
    case Source::depthwise:
      return false;
  }
  return false;
}

bool ChainRules::can_attend(const AttentionStep& step) const {
  const Attention& a = step.attention;
  const auto is_f16 = [&](const Place& place) { return block_of(place).store == Store::f16; };
  return a.operand == Store::f16 && a.keys <= kMostChainKeys &&
         round_up(a.head_size, kOctet) <= kMostChainHead && is_f16(step.q) && is_f16(step.k) &&
         is_f16(step.v);
}

}  // namespace assay::backend::cuda
