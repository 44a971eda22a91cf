// The C ABI over the C++ API: no exception leaves, every pointer is looked at first.
#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "assay/assay_c.h"
#include "base/error.h"

struct assay_model {
  assay::Classifier classifier;
};

namespace {

using assay::ErrorKind;

/// The message of the thread's last failed call; a literal where even copying it failed.
thread_local std::string last_message;
thread_local const char* last_error = "";

void remember(const char* message) noexcept {
  try {
    last_message = message;
    last_error = last_message.c_str();
  } catch (...) {
    last_error = "out of memory";
  }
}

assay_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input:
      return ASSAY_BAD_INPUT;
    case ErrorKind::unsupported:
      return ASSAY_UNSUPPORTED;
    case ErrorKind::not_found:
      return ASSAY_NOT_FOUND;
    case ErrorKind::corrupt:
      return ASSAY_CORRUPT;
    case ErrorKind::out_of_memory:
      return ASSAY_OUT_OF_MEMORY;
    case ErrorKind::internal:
      return ASSAY_INTERNAL;
  }
  return ASSAY_INTERNAL;
}

template <typename Body>
assay_status guarded(const Body& body) noexcept {
  try {
    body();
    return ASSAY_OK;
  } catch (const assay::Error& error) {
    remember(error.what());
    return status_of(error.kind());
  } catch (const std::bad_alloc&) {
    remember("out of memory");
    return ASSAY_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    remember(error.what());
    return ASSAY_INTERNAL;
  } catch (...) {
    remember("unknown exception");
    return ASSAY_INTERNAL;
  }
}

void require(bool condition, const char* what) {
  if (!condition) assay::fail(ErrorKind::bad_input, "{}", what);
}

/// The checks that all classify calls share; count is 0 until there is an answer.
void check_call(const assay_model* model, const assay_prediction* predictions, size_t capacity,
                size_t* count) {
  require(count != nullptr, "count is NULL");
  *count = 0;
  require(model != nullptr, "model is NULL");
  require(predictions != nullptr || capacity == 0, "predictions is NULL");
}

int top_k(size_t capacity) {
  constexpr auto kMost = static_cast<size_t>(std::numeric_limits<int>::max());
  return static_cast<int>(capacity < kMost ? capacity : kMost);
}

void give(const assay::Classification& answer, const assay::Classifier& classifier,
          assay_prediction* predictions, size_t* count) {
  for (size_t i = 0; i < answer.top.size(); ++i) {
    const assay::Prediction& best = answer.top[i];
    // Not best.label: only the stored string is known to end with a zero.
    const std::string& label = classifier.labels()[static_cast<size_t>(best.index)];
    predictions[i] = {best.index, label.c_str(), best.probability};
  }
  *count = answer.top.size();
}

/// The pixels without the gaps between rows.
std::vector<std::uint8_t> without_stride(const std::uint8_t* rgb, size_t row, size_t height,
                                         size_t stride) {
  std::vector<std::uint8_t> packed;
  packed.reserve(row * height);
  for (size_t y = 0; y < height; ++y)
    packed.insert(packed.end(), rgb + y * stride, rgb + y * stride + row);
  return packed;
}

}  // namespace

extern "C" {

const char* assay_last_error(void) { return last_error; }

const char* assay_version(void) {
  static const std::string text(assay::version());
  return text.c_str();
}

assay_status assay_open(const char* bundle_path, const char* backend, int threads,
                        assay_model** model) {
  return guarded([&] {
    require(model != nullptr, "model is NULL");
    *model = nullptr;
    require(bundle_path != nullptr, "bundle_path is NULL");
    assay::LoadOptions options;
    if (backend != nullptr) options.backend = backend;
    options.threads = threads;
    *model = new assay_model{assay::load(bundle_path, options)};
  });
}

void assay_close(assay_model* model) { delete model; }

int32_t assay_input_height(const assay_model* model) {
  return model == nullptr ? 0 : model->classifier.info().input_height;
}

int32_t assay_input_width(const assay_model* model) {
  return model == nullptr ? 0 : model->classifier.info().input_width;
}

int32_t assay_classes(const assay_model* model) {
  return model == nullptr ? 0 : model->classifier.info().classes;
}

assay_status assay_classify_file(const assay_model* model, const char* path,
                                 assay_prediction* predictions, size_t capacity, size_t* count) {
  return guarded([&] {
    check_call(model, predictions, capacity, count);
    require(path != nullptr, "path is NULL");
    give(model->classifier.classify_file(path, top_k(capacity)), model->classifier, predictions,
         count);
  });
}

assay_status assay_classify_memory(const assay_model* model, const void* bytes, size_t size,
                                   assay_prediction* predictions, size_t capacity, size_t* count) {
  return guarded([&] {
    check_call(model, predictions, capacity, count);
    require(bytes != nullptr || size == 0, "bytes is NULL");
    const std::span file(static_cast<const std::byte*>(bytes), size);
    give(model->classifier.classify_encoded(file, top_k(capacity)), model->classifier, predictions,
         count);
  });
}

assay_status assay_classify_pixels(const assay_model* model, const uint8_t* rgb, int32_t width,
                                   int32_t height, size_t stride, assay_prediction* predictions,
                                   size_t capacity, size_t* count) {
  return guarded([&] {
    check_call(model, predictions, capacity, count);
    require(rgb != nullptr, "rgb is NULL");
    require(width > 0 && height > 0, "width and height must be at least 1");
    const size_t row = static_cast<size_t>(width) * 3;
    const auto rows = static_cast<size_t>(height);
    require(stride >= row, "stride is less than width * 3");
    require(stride <= std::numeric_limits<size_t>::max() / rows, "stride * height overflows");
    std::vector<std::uint8_t> packed;
    std::span<const std::uint8_t> pixels(rgb, row * rows);
    if (stride != row) pixels = packed = without_stride(rgb, row, rows, stride);
    give(model->classifier.classify({pixels, width, height}, top_k(capacity)), model->classifier,
         predictions, count);
  });
}

assay_status assay_run_tensor(const assay_model* model, const float* nchw, int32_t batch,
                              float* logits, size_t logits_capacity) {
  return guarded([&] {
    require(model != nullptr, "model is NULL");
    require(nchw != nullptr, "nchw is NULL");
    require(logits != nullptr, "logits is NULL");
    const assay::ModelInfo& info = model->classifier.info();
    require(batch >= 1 && batch <= info.max_batch, "batch is not in 1 ... the model's max batch");
    const auto images = static_cast<size_t>(batch);
    require(logits_capacity >= images * static_cast<size_t>(info.classes),
            "logits_capacity is less than batch * classes");
    const size_t each =
        static_cast<size_t>(info.input_height) * static_cast<size_t>(info.input_width) * 3;
    const std::vector<float> result =
        model->classifier.logits_of_tensor({nchw, images * each}, batch);
    std::copy(result.begin(), result.end(), logits);
  });
}

}  // extern "C"
