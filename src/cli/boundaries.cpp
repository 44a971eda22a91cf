#include "cli/boundaries.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cli/image_batch.h"
#include "cli/sample_image.h"
#include "pipeline/classifier.h"

namespace assay::cli {
namespace {

constexpr int kTopLabels = 5;
/// Device and call boundary differ by where the input is normalized: by rounding only.
constexpr float kRounding = 1e-3F;

struct BatchInput {
  std::vector<std::uint8_t> rgb;
  std::vector<float> tensor;  ///< the same images, normalized
};

BatchInput make_input(const image::Transform& transform, int batch, int which) {
  BatchInput input;
  for (int i = 0; i < batch; ++i) {
    const image::Image image = random_image(transform.input_width, transform.input_height,
                                            static_cast<std::uint32_t>(which * batch + i + 1));
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
  State(Classifier loaded, int images, std::vector<std::byte> file)
      : classifier(std::move(loaded)),
        lease(classifier.state().sessions.take()),
        batch(images),
        photo(std::move(file)),
        encoded(classifier, images) {
    const auto classes = static_cast<std::size_t>(classifier.info().classes);
    logits.resize(classes * static_cast<std::size_t>(batch));
    for (int i = 0; i < kInputs; ++i) {
      inputs.push_back(make_input(classifier.state().bundle.transform, batch, i));
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

  void run_end_to_end() {
    encoded.clear();
    while (!encoded.full()) encoded.add(photo, "the image to measure");
    encoded.run();
    labels.clear();
    for (int i = 0; i < batch; ++i) {
      for (const int index : pipeline::top_k(encoded.logits(i), kTopLabels)) {
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
  pipeline::SessionPool::Lease lease;
  const int batch;
  const std::vector<std::byte> photo;
  ImageBatch encoded;
  std::vector<BatchInput> inputs;
  std::vector<float> logits;
  std::vector<std::string_view> labels;
};

BoundaryInputs::BoundaryInputs(Classifier classifier, int batch, std::vector<std::byte> photo)
    : state_(std::make_unique<State>(std::move(classifier), batch, std::move(photo))) {}

BoundaryInputs::~BoundaryInputs() = default;

pipeline::Candidate BoundaryInputs::candidate(const Boundary& boundary) {
  State* const state = state_.get();
  if (boundary.name == kDevice.name) {
    return {std::string(boundary.name), [state](int iteration) { state->run_device(iteration); }};
  }
  if (boundary.name == kCall.name) {
    return {std::string(boundary.name), [state](int iteration) { state->run_call(iteration); }};
  }
  return {std::string(boundary.name), [state](int) { state->run_end_to_end(); }};
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
    state.run_end_to_end();
    const std::span<const float> logits = state.encoded.logits(0);
    return std::vector<float>(logits.begin(), logits.end());
  });
}

}  // namespace assay::cli
