#include "pipeline/classifier.h"

#include "base/error.h"
#include "base/file.h"
#include "pipeline/preprocess.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxImageFile = std::uint64_t{1} << 30;

std::size_t pixels_of(const ModelInfo& info) {
  return static_cast<std::size_t>(info.input_height) * static_cast<std::size_t>(info.input_width);
}

void check_batch(const ModelInfo& info, int batch) {
  if (batch < 1 || batch > info.max_batch)
    fail(ErrorKind::bad_input,
         "{}: batch {}, expected 1 ... {} (LoadOptions::max_batch raises the limit)",
         info.architecture, batch, info.max_batch);
}

void check_size(const ModelInfo& info, const char* what, std::size_t found, int batch,
                std::size_t each) {
  if (found != static_cast<std::size_t>(batch) * each)
    fail(ErrorKind::bad_input, "{}: {} holds {} elements, {} images need {}", info.architecture,
         what, found, batch, static_cast<std::size_t>(batch) * each);
}

/// One resized image to its answer.
Classification answer(const Classifier& classifier, const image::Image& resized, int k) {
  Classification answer;
  answer.logits.resize(static_cast<std::size_t>(classifier.info().classes));
  classifier.run_rgb(resized.pixels, 1, answer.logits);
  std::vector<float> probabilities(answer.logits.size());
  pipeline::softmax(answer.logits, probabilities);
  for (const int index : pipeline::top_k(answer.logits, k)) {
    const auto at = static_cast<std::size_t>(index);
    answer.top.push_back({index, classifier.labels()[at], probabilities[at]});
  }
  return answer;
}

void check_top_k(int top_k) {
  if (top_k < 0) fail(ErrorKind::bad_input, "top_k {}: expected 0 or more", top_k);
}

Classification classify_bytes(const Classifier& classifier, std::span<const std::byte> bytes,
                              std::string_view what, int top_k) {
  check_top_k(top_k);
  const Classifier::State& state = classifier.state();
  const image::Transform& transform = state.bundle.transform;
  const image::Image decoded = image::decode(bytes, what, state.decode);
  return answer(classifier, pipeline::resize_and_crop(decoded, what, transform), top_k);
}

}  // namespace

Classifier::Classifier(std::shared_ptr<State> state) : state_(std::move(state)) {}

const ModelInfo& Classifier::info() const { return state_->info; }

std::span<const std::string> Classifier::labels() const { return state_->bundle.labels; }

Classification Classifier::classify_file(const std::filesystem::path& file, int top_k) const {
  return classify_bytes(*this, read_file(file, kMaxImageFile), file.string(), top_k);
}

Classification Classifier::classify_encoded(std::span<const std::byte> bytes, int top_k) const {
  return classify_bytes(*this, bytes, "image in memory", top_k);
}

Classification Classifier::classify(const Pixels& pixels, int top_k) const {
  check_top_k(top_k);
  if (pixels.width < 1 || pixels.height < 1)
    fail(ErrorKind::bad_input, "pixels of {} x {}: expected at least 1 x 1", pixels.width,
         pixels.height);
  const auto expected =
      static_cast<std::uint64_t>(pixels.width) * static_cast<std::uint64_t>(pixels.height) * 3;
  if (pixels.rgb.size() != expected)
    fail(ErrorKind::bad_input, "pixels of {} x {}: {} bytes, expected {}", pixels.width,
         pixels.height, pixels.rgb.size(), expected);
  const image::Image image{pixels.width, pixels.height, {pixels.rgb.begin(), pixels.rgb.end()}};
  return answer(*this, image::resize_and_crop(image, state_->bundle.transform), top_k);
}

std::vector<float> Classifier::logits_of_tensor(std::span<const float> nchw, int batch) const {
  const ModelInfo& model = info();
  check_batch(model, batch);
  const std::size_t each = pixels_of(model) * 3;
  check_size(model, "the tensor", nchw.size(), batch, each);
  std::vector<float> logits(static_cast<std::size_t>(batch) *
                            static_cast<std::size_t>(model.classes));
  const pipeline::SessionPool::Lease lease = state_->sessions.take();
  std::vector<float>& nhwc = lease.scratch();
  nhwc.resize(nchw.size());
  for (std::size_t offset = 0; offset < nchw.size(); offset += each)
    pipeline::chw_to_hwc(nchw.subspan(offset, each), std::span(nhwc).subspan(offset, each),
                         pixels_of(model));
  lease.session().run({{}, nhwc}, batch, {logits, {}});
  return logits;
}

void Classifier::run_rgb(std::span<const std::uint8_t> rgb, int batch, std::span<float> logits,
                         std::span<float> features) const {
  const ModelInfo& model = info();
  check_batch(model, batch);
  check_size(model, "rgb", rgb.size(), batch, pixels_of(model) * 3);
  check_size(model, "logits", logits.size(), batch, static_cast<std::size_t>(model.classes));
  if (!features.empty()) {
    if (model.features == 0)
      fail(ErrorKind::unsupported, "{}: this bundle has no output \"features\"",
           model.architecture);
    check_size(model, "features", features.size(), batch, static_cast<std::size_t>(model.features));
  }
  state_->sessions.take().session().run({rgb, {}}, batch, {logits, features});
}

}  // namespace assay
