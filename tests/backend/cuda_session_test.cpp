/// What a session promises of calls in a row.
#include <cstring>

#include "backend/cuda/plan.h"
#include "backend/cuda/session.h"
#include "backend/cuda_random_network.h"
#include "backend/cuda_support.h"

namespace assay::backend::cuda {
namespace {

class CudaSessions : public OnDevice {};

constexpr int kMaxBatch = 5;

struct Lowered {
  Lowered(unsigned seed, const Way& way)
      : graph(std::make_shared<const graph::Graph>(narrowed(RandomNetwork(seed).build(6), way))) {
    LowerOptions options;
    options.max_batch = kMaxBatch;
    plan = backend::lower(graph, {"cuda", 0}, options);
    session = std::make_unique<CudaSession>(dynamic_cast<const CudaPlan&>(*plan).data());
  }
  [[nodiscard]] std::vector<float> logits(int batch) const {
    const auto classes =
        static_cast<std::size_t>(graph::elements(graph->value(graph->output("logits")).dims));
    std::vector<float> found(classes * static_cast<std::size_t>(batch),
                             std::numeric_limits<float>::quiet_NaN());
    session->run({{}, input_for(*graph, batch)}, batch, {found, {}});
    return found;
  }

  std::shared_ptr<const graph::Graph> graph;
  std::unique_ptr<Plan> plan;
  std::unique_ptr<CudaSession> session;
};

/// A kernel that does not wait for the one before it shows as bits that differ.
TEST_F(CudaSessions, RepeatThemselves) {
  for (unsigned seed = 300; seed < 304; ++seed) {
    const Lowered lowered(seed, kWays[2]);
    const std::vector<float> first = lowered.logits(kMaxBatch);
    for (int i = 0; i < 50; ++i) {
      static_cast<void>(lowered.logits(1));
      const std::vector<float> again = lowered.logits(kMaxBatch);
      ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0)
          << "seed " << seed << ", call " << i;
    }
  }
}

TEST_F(CudaSessions, TimeTheDevice) {
  const Lowered lowered(1, kWays[2]);
  const std::vector<float> milliseconds = lowered.session->time_device(2, 3, 7);
  ASSERT_EQ(milliseconds.size(), 7U);
  for (const float taken : milliseconds) EXPECT_GT(taken, 0.0F);
}

}  // namespace
}  // namespace assay::backend::cuda
