#include "backend/cuda/product_step.h"

#include "backend/cuda/step.h"

namespace assay::backend::cuda {

Instruction ProductStep::at(const Addresses& at) const {
  Product now = product;
  now.a = at.view(a);
  now.first = at.view(first);
  now.residual = at.view(residual);
  now.out = at.view(out);
  now.norm_weight = at.kept(norm_weight);
  now.norm_bias = at.kept(norm_bias);
  now.depthwise_weight = at.kept(depthwise_weight);
  now.depthwise_bias = at.kept(depthwise_bias);
  now.weight = at.kept<std::byte>(weight.weight);
  now.scale = at.kept(weight.scale);
  now.bias = at.kept(weight.bias);
  return Instruction(now);
}

Instruction AttentionStep::at(const Addresses& at) const {
  Attention now = attention;
  now.q = at.view(q);
  now.k = at.view(k);
  now.v = at.view(v);
  now.out = at.view(out);
  return Instruction(now);
}

}  // namespace assay::backend::cuda
