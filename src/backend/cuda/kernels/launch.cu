#include <algorithm>

#include "backend/cuda/kernels/attention.cuh"
#include "backend/cuda/kernels/chain_kernel.h"
#include "backend/cuda/kernels/ends.cuh"
#include "backend/cuda/kernels/gate.cuh"
#include "backend/cuda/kernels/grouped.cuh"
#include "backend/cuda/kernels/inverted.h"
#include "backend/cuda/kernels/launch.h"
#include "backend/cuda/kernels/movement.cuh"
#include "backend/cuda/kernels/product.cuh"
#include "backend/cuda/kernels/rowwise.cuh"

namespace assay::backend::cuda {
namespace {

/// Lets the next kernel on the stream begin, up to its gate, while this one runs.
__device__ void let_next_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

extern __shared__ __align__(128) std::byte dynamic_shared[];

__device__ Worker this_block() {
  return {static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)};
}

/// Products of one kind that need nothing of each other: each block has a tile of one of them.
struct Products {
  Product products[kMostTogether];
  std::int32_t first_block[kMostTogether];
  std::int32_t count = 0;
};

template <typename Shape, Store kStore, Source kSource, bool kFast>
__global__ void __launch_bounds__(kProductThreads, 1)
    product_kernel(const __grid_constant__ Product p, const __grid_constant__ Call call) {
  let_next_begin();
  Gate gate;
  run_product<Shape, kStore, kSource, kFast>(p, call, this_block(), gate, dynamic_shared);
}

/// The same for a group. Reading parameters at an index is slower: one product has a kernel
/// without.
template <Store kStore, Source kSource>
__global__ void __launch_bounds__(kProductThreads, 1)
    products_kernel(const __grid_constant__ Products group, const __grid_constant__ Call call) {
  let_next_begin();
  Gate gate;
  const int block = static_cast<int>(blockIdx.x);
  int which = 0;
#pragma unroll 1
  while (which + 1 < group.count && block >= group.first_block[which + 1]) ++which;
  // No block has a second tile.
  const Worker worker{block - group.first_block[which], 1 << 30};
  run_product<SmallTile, kStore, kSource, true>(group.products[which], call, worker, gate,
                                                dynamic_shared);
}

template <typename Operand, int kHeadSize, bool kCodes>
__global__ void __launch_bounds__(kThreads, 1)
    attention_kernel(const __grid_constant__ Attention a, const __grid_constant__ Call call) {
  let_next_begin();
  Gate gate;
  run_attention<Operand, kHeadSize, kCodes>(a, call, this_block(), gate, dynamic_shared);
}

__global__ void __launch_bounds__(kThreads, 1)
    simple_attention_kernel(const __grid_constant__ Attention a,
                            const __grid_constant__ Call call) {
  let_next_begin();
  Gate gate;
  run_simple(a, call, this_block(), gate, dynamic_shared);
}

template <typename Step>
__global__ void __launch_bounds__(kThreads, 1)
    step_kernel(const __grid_constant__ Step step, const __grid_constant__ Call call) {
  let_next_begin();
  Gate gate;
  run(step, call, this_block(), gate, dynamic_shared);
}

template <typename Step>
cudaError_t launch_kernel(void (*kernel)(Step, Call), const Step& step, const Call& call,
                          int blocks, int shared_bytes, bool overlap, cudaStream_t stream,
                          int threads = kThreads) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = overlap ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, step, call);
}

/// Fewer tiles than this leave multiprocessors idle; then smaller ones are quicker.
constexpr int kBusyTiles = 128;

using ProductKernel = void (*)(Product, Call);
using ProductsKernel = void (*)(Products, Call);

template <typename Shape, Store kStore, bool kFast>
ProductKernel kernel_for(Source source) {
  switch (source) {
    case Source::rows:
      return product_kernel<Shape, kStore, Source::rows, kFast>;
    case Source::layer_norm:
      return product_kernel<Shape, kStore, Source::layer_norm, kFast>;
    case Source::convolution:
      return product_kernel<Shape, kStore, Source::convolution, kFast>;
    case Source::depthwise:
      return product_kernel<Shape, kStore, Source::depthwise, kFast>;
  }
  return nullptr;
}

template <typename Shape>
ProductKernel kernel_for(const Product& p) {
  const bool fast = is_fast(p);
  switch (p.operand) {
    case Store::f16:
      return fast ? kernel_for<Shape, Store::f16, true>(p.source)
                  : kernel_for<Shape, Store::f16, false>(p.source);
    case Store::e4m3:
      return fast ? kernel_for<Shape, Store::e4m3, true>(p.source)
                  : kernel_for<Shape, Store::e4m3, false>(p.source);
    case Store::bf16:
      return kernel_for<Shape, Store::bf16, false>(p.source);
    default:
      return kernel_for<SmallTile, Store::f32, false>(p.source);
  }
}

bool is_large(const Product& p, const Call& call) {
  return p.operand != Store::f32 && product_tiles<LargeTile>(p, call.batch) >= kBusyTiles;
}

template <typename Shape>
cudaError_t launch_product(const Product& p, const Call& call, bool overlap, cudaStream_t stream) {
  return launch_kernel(kernel_for<Shape>(p), p, call, product_tiles<Shape>(p, call.batch),
                       product_shared_bytes<Shape>(p), overlap, stream, kProductThreads);
}

/// The kernel of a group of products such as `p`; null where those go one by one.
ProductsKernel group_kernel_for(const Product& p) {
  if (!is_fast(p) || (p.source != Source::rows && p.source != Source::layer_norm)) return nullptr;
  const bool rows = p.source == Source::rows;
  if (p.operand == Store::f16) {
    return rows ? products_kernel<Store::f16, Source::rows>
                : products_kernel<Store::f16, Source::layer_norm>;
  }
  if (p.operand == Store::e4m3) {
    return rows ? products_kernel<Store::e4m3, Source::rows>
                : products_kernel<Store::e4m3, Source::layer_norm>;
  }
  return nullptr;
}

cudaError_t launch_products(std::span<const Instruction> group, const Call& call, bool overlap,
                            cudaStream_t stream) {
  const Product& first = group.front().product;
  if (group.size() == 1) {
    return is_large(first, call) ? launch_product<LargeTile>(first, call, overlap, stream)
                                 : launch_product<SmallTile>(first, call, overlap, stream);
  }
  Products products;
  int blocks = 0;
  int shared = 0;
  for (const Instruction& instruction : group) {
    const Product& p = instruction.product;
    products.products[products.count] = p;
    products.first_block[products.count++] = blocks;
    blocks += product_tiles<SmallTile>(p, call.batch);
    shared = std::max(shared, product_shared_bytes<SmallTile>(p));
  }
  return launch_kernel(group_kernel_for(first), products, call, blocks, shared, overlap, stream,
                       kProductThreads);
}

using AttentionKernel = void (*)(Attention, Call);

AttentionKernel kernel_for(const Attention& a) {
  if (attention_is_simple(a)) return simple_attention_kernel;
  return with_attention_kind(a, [](auto operand, auto head_size, auto codes) -> AttentionKernel {
    return attention_kernel<typename decltype(operand)::type, head_size(), codes()>;
  });
}

template <typename Step>
cudaError_t launch_step(const Step& step, const Call& call, bool overlap, cudaStream_t stream) {
  return launch_kernel(step_kernel<Step>, step, call, tiles(step, call.batch),
                       shared_bytes(step, call.batch), overlap, stream);
}

template <typename Kernel>
cudaError_t allow_shared(Kernel kernel) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              kMostSharedBytes);
}

}  // namespace

/// Chains of one phase, as many as one kernel takes.
static std::size_t chains_together(std::span<const Instruction> instructions) {
  const Instruction& first = instructions.front();
  std::size_t count = 1;
  while (count < std::min<std::size_t>(instructions.size(), kMostChains) &&
         instructions[count].op == Op::chain && instructions[count].phase == first.phase &&
         go_together(instructions[count].chain, first.chain)) {
    ++count;
  }
  return count;
}

std::size_t together(std::span<const Instruction> instructions, const Call& call) {
  const Instruction& first = instructions.front();
  if (first.op == Op::chain) return chains_together(instructions);
  if (first.op != Op::product) return 1;
  const ProductsKernel kernel = group_kernel_for(first.product);
  if (kernel == nullptr || is_large(first.product, call)) return 1;
  const auto goes_along = [&](const Instruction& other) {
    return other.op == Op::product && other.phase == first.phase &&
           !is_large(other.product, call) && group_kernel_for(other.product) == kernel;
  };
  std::size_t count = 1;
  while (count < std::min(instructions.size(), kMostTogether) && goes_along(instructions[count])) {
    ++count;
  }
  return count;
}

cudaError_t launch(std::span<const Instruction> group, const Call& call, bool overlap,
                   cudaStream_t stream) {
  const Instruction& instruction = group.front();
  switch (instruction.op) {
    case Op::product:
      return launch_products(group, call, overlap, stream);
    case Op::attention:
      return launch_kernel(kernel_for(instruction.attention), instruction.attention, call,
                           tiles(instruction.attention, call.batch),
                           shared_bytes(instruction.attention, call.batch), overlap, stream);
    case Op::chain:
      return launch_chains(group, call, overlap, stream);
    case Op::copy:
      return launch_step(instruction.copy, call, overlap, stream);
    case Op::normalize:
      return launch_step(instruction.normalize, call, overlap, stream);
    case Op::binary:
      return launch_step(instruction.binary, call, overlap, stream);
    case Op::rowwise:
      return launch_step(instruction.rowwise, call, overlap, stream);
    case Op::grouped:
      return launch_step(instruction.grouped, call, overlap, stream);
    case Op::resize:
      return launch_step(instruction.resize, call, overlap, stream);
    case Op::mean:
      return launch_step(instruction.mean, call, overlap, stream);
    case Op::stem:
      return launch_step(instruction.stem, call, overlap, stream);
    case Op::pooled:
      return launch_step(instruction.pooled, call, overlap, stream);
    case Op::inverted:
      return launch_inverted(instruction.inverted, call.batch, overlap, stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t prepare_kernels() {
  if (const cudaError_t error = prepare_chains(); error != cudaSuccess) return error;
  for (const Store operand : {Store::f16, Store::bf16, Store::e4m3, Store::f32}) {
    for (const Source source :
         {Source::rows, Source::layer_norm, Source::convolution, Source::depthwise}) {
      for (const Store store : {Store::f16, Store::f32}) {
        Product p;
        p.operand = operand;
        p.source = source;
        p.a.store = store;  // f16 is fast: every other condition holds of an empty product
        for (const ProductKernel kernel : {kernel_for<SmallTile>(p), kernel_for<LargeTile>(p)}) {
          if (const cudaError_t error = allow_shared(kernel); error != cudaSuccess) return error;
        }
      }
    }
  }
  for (const ProductsKernel kernel :
       {products_kernel<Store::f16, Source::rows>, products_kernel<Store::f16, Source::layer_norm>,
        products_kernel<Store::e4m3, Source::rows>,
        products_kernel<Store::e4m3, Source::layer_norm>}) {
    if (const cudaError_t error = allow_shared(kernel); error != cudaSuccess) return error;
  }
  for (const Store operand : {Store::f16, Store::bf16, Store::e4m3, Store::f32}) {
    for (const int head_size : {32, 64, 128}) {
      Attention a;
      a.operand = operand;
      a.head_size = head_size;
      if (const cudaError_t error = allow_shared(kernel_for(a)); error != cudaSuccess) return error;
    }
  }
  return prepare_inverted_kernels();
}

}  // namespace assay::backend::cuda
