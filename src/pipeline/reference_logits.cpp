#include "pipeline/reference_logits.h"

#include <cstring>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "graph/graph.h"

namespace assay::pipeline {

ReferenceLogits::ReferenceLogits(const std::filesystem::path& file, int classes)
    : file_(file), classes_(static_cast<std::size_t>(classes)) {
  const checkpoint::Weights weights = checkpoint::read_safetensors(file);
  const checkpoint::TensorView* logits = weights.find("logits");
  if (logits == nullptr) fail(ErrorKind::bad_input, "{}: no tensor \"logits\"", file.string());
  if (logits->shape.size() != 2 || logits->shape[1] != classes)
    fail(ErrorKind::bad_input,
         "{}: \"logits\" is {}, but must be [images, {}], as the bundle has {} classes",
         file.string(), graph::to_string(logits->shape), classes, classes);
  if (!graph::is_constant_type(logits->dtype))
    fail(ErrorKind::bad_input, "{}: \"logits\" is {}, expected a floating type such as F32",
         file.string(), name(logits->dtype));
  logits_.resize(static_cast<std::size_t>(logits->elements()));
  convert_to_f32(logits->dtype, logits->bytes, logits_);
  const checkpoint::TensorView* labels = weights.find("labels");
  if (labels == nullptr) return;
  if (labels->dtype != DType::i64 || labels->shape.size() != 1 ||
      labels->shape[0] != logits->shape[0])
    fail(ErrorKind::bad_input,
         "{}: \"labels\" is {} {}, but must be I64 [{}], one for each row of \"logits\"",
         file.string(), name(labels->dtype), graph::to_string(labels->shape), logits->shape[0]);
  labels_.resize(labels->bytes.size() / sizeof(std::int64_t));
  if (!labels_.empty()) std::memcpy(labels_.data(), labels->bytes.data(), labels->bytes.size());
}

std::span<const float> ReferenceLogits::row(std::uint64_t index) const {
  if (index >= size())
    fail(ErrorKind::bad_input, "{}: image {} has no row, there are {}", file_.string(), index,
         size());
  return std::span(logits_).subspan(index * classes_, classes_);
}

void ReferenceLogits::check_label(std::uint64_t index, int label) const {
  if (index < labels_.size() && labels_[index] != label)
    fail(
        ErrorKind::bad_input,
        "{}: image {} has the label {} there and {} in the dataset: the reference belongs to other "
        "images or another order",
        file_.string(), index, labels_[index], label);
}

void ReferenceLogits::check_size(std::optional<std::uint64_t> dataset) const {
  if (dataset && *dataset != size())
    fail(ErrorKind::bad_input, "{}: {} rows, but the dataset has {} images", file_.string(), size(),
         *dataset);
}

}  // namespace assay::pipeline
