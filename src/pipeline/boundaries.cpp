#include "pipeline/boundaries.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "pipeline/classifier.h"
#include "pipeline/image_batch.h"

namespace assay::pipeline {
namespace {

constexpr int kTopLabels = 5;
/// Device and call boundary differ by where the input is normalized: by rounding only.
constexpr float kRounding = 1e-3F;

struct BatchInput {
  std::vector<std::uint8_t> rgb;
  std::vector<float> tensor;  ///< the same images, normalized
};

BatchInput make_input(const image::Transform& transform, int batch, int which,
                      std::span<const image::Image> images) {
  BatchInput input;
  for (int i = 0; i < batch; ++i) {
    const image::Image& image = images[static_cast<std::size_t>(which * batch + i) % images.size()];
    std::vector<float> tensor(image.pixels.size());
    image::normalize_hwc(image, transform, tensor);
    input.rgb.insert(input.rgb.end(), image.pixels.begin(), image.pixels.end());
    input.tensor.insert(input.tensor.end(), tensor.begin(), tensor.end());
  }
  return input;
}

void check_finite(std::string_view boundary, std::span<const float> logits) {
  if (std::ranges::all_of(logits, [](float x) { return std::isfinite(x); })) return;
  fail(ErrorKind::internal, "the {} boundary gives logits that are not finite: nothing was timed",
       boundary);
}

}  // namespace

struct BoundaryInputs::State {
  State(Classifier loaded, int size, std::span<const image::Image> images,
        std::vector<std::vector<std::byte>> files)
      : classifier(std::move(loaded)),
        lease(classifier.state().sessions.take()),
        batch(size),
        photos(std::move(files)),
        encoded(classifier, size) {
    if (images.empty() || photos.empty())
      fail(ErrorKind::bad_input, "{}: no image to time it on", classifier.info().architecture);
    const auto classes = static_cast<std::size_t>(classifier.info().classes);
    logits.resize(classes * static_cast<std::size_t>(batch));
    for (int i = 0; i < kInputs; ++i) {
      inputs.push_back(make_input(classifier.state().bundle.transform, batch, i, images));
    }
  }

  void run_device(int iteration) {
    const BatchInput& input = inputs[static_cast<std::size_t>(iteration % kInputs)];
    lease.session().run({.rgb = {}, .tensor = input.tensor}, batch,
                        {.logits = logits, .features = {}});
  }

  void run_call(int iteration) {
    const BatchInput& input = inputs[static_cast<std::size_t>(iteration % kInputs)];
    classifier.run_rgb(input.rgb, batch, logits);
  }

  void run_end_to_end(int iteration) {
    encoded.clear();
    for (auto next = static_cast<std::size_t>(iteration); !encoded.full(); ++next)
      encoded.add(photos[next % photos.size()], "the image to measure");
    encoded.run();
    labels.clear();
    for (int i = 0; i < batch; ++i) {
      for (const int index : top_k(encoded.logits(i), kTopLabels)) {
        labels.emplace_back(classifier.labels()[static_cast<std::size_t>(index)]);
      }
    }
  }

  /// The logits of run(), twice the same and finite.
  template <typename Run>
  std::vector<float> reproduced(std::string_view boundary, const Run& run) {
    const std::vector<float> first = run();
    check_finite(boundary, first);
    if (run() != first) {
      fail(ErrorKind::internal,
           "the {} boundary gives different logits for the same input: nothing was timed",
           boundary);
    }
    return first;
  }

  const Classifier classifier;
  SessionPool::Lease lease;
  const int batch;
  const std::vector<std::vector<std::byte>> photos;
  ImageBatch encoded;
  std::vector<BatchInput> inputs;
  std::vector<float> logits;
  std::vector<std::string_view> labels;
};

BoundaryInputs::BoundaryInputs(Classifier classifier, int batch,
                               std::span<const image::Image> images,
                               std::vector<std::vector<std::byte>> photos)
    : state_(std::make_unique<State>(std::move(classifier), batch, images, std::move(photos))) {}

BoundaryInputs::~BoundaryInputs() = default;

Candidate BoundaryInputs::candidate(const Boundary& boundary) {
  State* const state = state_.get();
  if (boundary.name == kDevice.name) {
    // A session of the cuda backend copies a tensor to the GPU and the logits back: that is no
    // resident input.
    if (state->classifier.info().plan.starts_with("cuda")) {
      fail(ErrorKind::unsupported,
           "the device boundary can't be timed on the cuda backend here, where a call copies its "
           "input to the GPU; time the call boundary, or use bench/cuda's assay_cuda_bench");
    }
    return {std::string(boundary.name), [state](int iteration) { state->run_device(iteration); }};
  }
  if (boundary.name == kCall.name) {
    return {std::string(boundary.name), [state](int iteration) { state->run_call(iteration); }};
  }
  return {std::string(boundary.name), [state](int iteration) { state->run_end_to_end(iteration); }};
}

void BoundaryInputs::verify() {
  State& state = *state_;
  for (int i = 0; i < kInputs; ++i) {
    const std::vector<float> device = state.reproduced(kDevice.name, [&] {
      state.run_device(i);
      return state.logits;
    });
    const std::vector<float> call = state.reproduced(kCall.name, [&] {
      state.run_call(i);
      return state.logits;
    });
    for (std::size_t k = 0; k < call.size(); ++k) {
      if (std::abs(call[k] - device[k]) <= kRounding * (1 + std::abs(call[k]))) continue;
      fail(ErrorKind::internal,
           "the device and the call boundary disagree on the same images ({} and {}): nothing was "
           "timed",
           device[k], call[k]);
    }
  }
  state.reproduced(kEndToEnd.name, [&] {
    state.run_end_to_end(0);
    const std::span<const float> logits = state.encoded.logits(0);
    return std::vector<float>(logits.begin(), logits.end());
  });
}

}  // namespace assay::pipeline
