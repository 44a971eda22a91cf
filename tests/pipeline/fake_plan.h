#pragma once
/// The tiny bundle's arithmetic as a plan of its own: what a Classifier does around a plan is
/// tested without any backend, and a session that two threads use at once is noticed.
#include <atomic>
#include <functional>

#include "bundle/tiny_bundle.h"
#include "pipeline/classifier.h"

namespace assay::test {

struct FakeCounters {
  std::atomic<int> sessions{0};
  std::atomic<int> running{0};
  std::atomic<int> most_running{0};
  std::atomic<bool> shared{false};       ///< a session was entered twice
  std::atomic<int> failures_to_make{0};  ///< that make_session still owes
  std::function<void()> during_run = [] {};
};

/// Logits of one image of the tiny bundle from its mean normalized colour.
inline std::array<float, 3> tiny_logits(const std::array<float, 3>& colour) {
  const auto [r, g, b] = colour;
  return {r - 0.5F * g + 0.25F, g - 0.5F * b, b - 0.5F * r - 0.25F};
}

class FakeSession : public backend::Session {
 public:
  FakeSession(FakeCounters& counters, std::int64_t pixels, backend::Normalization normalization)
      : counters_(counters), pixels_(static_cast<std::size_t>(pixels)), norm_(normalization) {}

  void run(const backend::Input& input, int batch, const backend::Results& results) override {
    if (busy_.exchange(true)) counters_.shared = true;
    const int running = ++counters_.running;
    for (int most = counters_.most_running; most < running;)
      if (counters_.most_running.compare_exchange_weak(most, running)) break;
    counters_.during_run();
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
      const auto colour = mean(input, i);
      const auto logits = tiny_logits(colour);
      std::ranges::copy(logits, results.logits.begin() + static_cast<std::ptrdiff_t>(i * 3));
      if (!results.features.empty())
        std::ranges::copy(colour, results.features.begin() + static_cast<std::ptrdiff_t>(i * 3));
    }
    --counters_.running;
    busy_ = false;
  }
  void trace(const backend::Input&, int, const backend::TraceCallback&) override {}
  void profile(const backend::Input&, int, std::span<double>) override {}

 private:
  [[nodiscard]] std::array<float, 3> mean(const backend::Input& input, std::size_t image) const {
    std::array<double, 3> sums{};
    for (std::size_t i = 0; i < pixels_ * 3; ++i) {
      const std::size_t at = image * pixels_ * 3 + i;
      const float value =
          input.tensor.empty()
              ? (static_cast<float>(input.rgb[at]) / 255.0F - norm_.mean[i % 3]) / norm_.std[i % 3]
              : input.tensor[at];
      sums[i % 3] += static_cast<double>(value);
    }
    const auto count = static_cast<double>(pixels_);
    return {static_cast<float>(sums[0] / count), static_cast<float>(sums[1] / count),
            static_cast<float>(sums[2] / count)};
  }

  FakeCounters& counters_;
  std::size_t pixels_;
  backend::Normalization norm_;
  std::atomic<bool> busy_{false};
};

class FakePlan : public backend::Plan {
 public:
  FakePlan(FakeCounters& counters, std::int64_t pixels, backend::Normalization normalization)
      : counters_(counters), pixels_(pixels), normalization_(normalization) {}
  [[nodiscard]] std::span<const backend::StepInfo> steps() const override { return {}; }
  [[nodiscard]] std::uint64_t arena_bytes() const override { return 0; }
  [[nodiscard]] std::string description() const override { return "fake"; }
  [[nodiscard]] std::unique_ptr<backend::Session> make_session() const override {
    if (counters_.failures_to_make > 0) {
      --counters_.failures_to_make;
      throw std::bad_alloc();
    }
    ++counters_.sessions;
    return std::make_unique<FakeSession>(counters_, pixels_, normalization_);
  }

 private:
  FakeCounters& counters_;
  std::int64_t pixels_;
  backend::Normalization normalization_;
};

/// A classifier of the tiny bundle that calls black 0 and white 1; crop and resize keep whole
/// pictures of one colour as they are.
inline Classifier fake_classifier(FakeCounters& counters, const LoadOptions& options = {},
                                  std::int64_t side = 4) {
  bundle::Bundle bundle = tiny_bundle(side);
  bundle.transform.mean = {0, 0, 0};
  bundle.transform.std = {1, 1, 1};
  bundle.transform.crop_pct = 1;
  auto plan = std::make_unique<FakePlan>(counters, side * side, backend::Normalization{});
  return Classifier(
      std::make_shared<Classifier::State>(std::move(bundle), std::move(plan), options));
}

/// `width` × `height` pixels of one colour.
inline std::vector<std::uint8_t> solid(int width, int height, std::array<std::uint8_t, 3> colour) {
  std::vector<std::uint8_t> rgb;
  for (int i = 0; i < width * height; ++i) rgb.insert(rgb.end(), colour.begin(), colour.end());
  return rgb;
}

}  // namespace assay::test
