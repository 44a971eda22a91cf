#pragma once
/// Assay's public C++ API: load a bundle, classify images.
///
///     assay::Classifier classifier = assay::load("model.assay");
///     assay::Classification answer = classifier.classify_file("cat.jpg");
///
/// A Classifier is thread-safe: calls from many threads take pooled sessions. Every function throws
/// assay::Error (see error.h) and nothing else of its own.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"

namespace assay {

/// "0.1.0".
std::string_view version();

struct LoadOptions {
  std::string backend = "cpu";  ///< "cpu", "reference", "cuda", "cuda:1"
  int threads = 0;              ///< threads a call uses; 0: the cores this process may use
  int max_batch = 0;            ///< largest batch of a call; 0: the bundle's
  bool exif_rotate = false;     ///< apply EXIF orientation when decoding; timm does not
};

/// Interleaved 8-bit RGB: rows top to bottom, no padding. Borrowed, not owned.
struct Pixels {
  std::span<const std::uint8_t> rgb;  ///< height × width × 3
  int width = 0;
  int height = 0;
};

struct Prediction {
  int index = 0;
  std::string_view label;  ///< lives as long as any copy of the Classifier
  float probability = 0;   ///< softmax over all classes
};

struct Classification {
  std::vector<float> logits;
  std::vector<Prediction> top;  ///< best first, at most top_k
};

/// What a loaded bundle is.
struct ModelInfo {
  std::string architecture;
  std::string precision;
  std::string plan;  ///< "cpu avx512, 2 threads"
  int input_height = 0;
  int input_width = 0;
  int classes = 0;
  int features = 0;
  int max_batch = 1;
};

class Classifier {
 public:
  [[nodiscard]] const ModelInfo& info() const;
  [[nodiscard]] std::span<const std::string> labels() const;

  /// A JPEG, PNG or WebP file.
  [[nodiscard]] Classification classify_file(const std::filesystem::path& file,
                                             int top_k = 5) const;
  /// An encoded file's bytes.
  [[nodiscard]] Classification classify_encoded(std::span<const std::byte> bytes,
                                                int top_k = 5) const;
  /// Decoded pixels of any size; they are resized and cropped as the checkpoint asks.
  [[nodiscard]] Classification classify(const Pixels& pixels, int top_k = 5) const;
  /// `batch` normalized images as float32 [batch, 3, H, W] (timm's layout), H and W as in info().
  /// Returns logits [batch, classes].
  [[nodiscard]] std::vector<float> logits_of_tensor(std::span<const float> nchw,
                                                    int batch = 1) const;
  /// `batch` images of exactly info()'s size, 8-bit RGB [batch, H, W, 3], into logits [batch,
  /// classes] and, where not empty, features [batch, features]. Allocates nothing once warm.
  void run_rgb(std::span<const std::uint8_t> rgb, int batch, std::span<float> logits,
               std::span<float> features = {}) const;

  struct State;  ///< of the implementation
  explicit Classifier(std::shared_ptr<State> state);
  [[nodiscard]] State& state() const { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

/// Loads a bundle. Throws not_found, corrupt or unsupported.
Classifier load(const std::filesystem::path& bundle, const LoadOptions& options = {});

}  // namespace assay
