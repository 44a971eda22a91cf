#include "graph/passes.h"

namespace assay::graph {

// One round is enough, because no pass makes work for one before it. remove_views may bring a
// BatchNorm next to its convolution, or leave a view of a constant; what fold_constants leaves are
// constants, which nothing views any more. fold_batch_norm only joins a convolution with the
// activation or addition behind its BatchNorm, and fuse_elementwise takes just those.
void optimize(Graph& graph, int optimization_level) {
  if (optimization_level > 0) {
    remove_views(graph);
    fold_constants(graph);
    fold_batch_norm(graph);
    fuse_elementwise(graph);
  }
  remove_dead(graph);
}

}  // namespace assay::graph
