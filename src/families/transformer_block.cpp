#include "families/transformer_block.h"

#include <cmath>

namespace assay::families {

using graph::Builder;
using graph::Role;
using graph::Scope;
using graph::ValueId;

double attention_scale(std::int64_t channels, int heads) {
  return 1.0 / std::sqrt(static_cast<double>(channels) / heads);
}

ValueId transformer_block(const Builder& builder, const Scope& scope, ValueId x,
                          const TransformerBlock& block) {
  const std::int64_t channels = builder.dims(x).back();
  const int axis = static_cast<int>(builder.dims(x).size()) - 1;

  const Scope attn = scope / "attn";
  const ValueId normed = (scope / "norm1").layer_norm(x, block.epsilon);
  const ValueId qkv = (attn / "qkv").as(Role::qkv).linear(normed, 3 * channels, block.qkv_bias);
  const ValueId q = attn.slice(qkv, axis, 0, channels);
  const ValueId k = attn.slice(qkv, axis, channels, 2 * channels);
  const ValueId v = attn.slice(qkv, axis, 2 * channels, 3 * channels);
  const ValueId mixed =
      attn.as(Role::attention)
          .attention(q, k, v, block.heads, attention_scale(channels, block.heads));
  x = scope.add(x, (attn / "proj").as(Role::attention_projection).linear(mixed, channels));

  const Scope mlp = scope / "mlp";
  ValueId hidden = (scope / "norm2").layer_norm(x, block.epsilon);
  hidden = mlp.activate((mlp / "fc1").as(Role::fc1).linear(hidden, block.hidden), block.activation);
  return scope.add(x, (mlp / "fc2").as(Role::fc2).linear(hidden, channels));
}

}  // namespace assay::families
