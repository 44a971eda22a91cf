#include <utility>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/quote.h"

namespace assay::checkpoint {

std::int64_t TensorView::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    product *= extent;
  }
  return product;
}

void Weights::add(TensorView tensor) {
  std::string key = tensor.name;
  const auto [place, added] = tensors_.try_emplace(std::move(key), std::move(tensor));
  if (!added) {
    fail(ErrorKind::bad_input, "tensor {} is there twice", quote(place->first));
  }
}

const TensorView* Weights::find(std::string_view name) const {
  const auto place = tensors_.find(name);
  return place == tensors_.end() ? nullptr : &place->second;
}

}  // namespace assay::checkpoint
