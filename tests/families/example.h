#pragma once
/// An example checkpoint on the reference backend.
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"

namespace assay::families {

struct Example {
  checkpoint::Checkpoint checkpoint;
  std::unique_ptr<backend::Plan> plan;
};

/// The checkpoint of that architecture, for images of the given size.
Example example(const std::string& architecture, int height, int width, int optimization_level);

struct Answer {
  std::vector<float> logits;
  std::vector<float> features;
};

/// One 8-bit RGB image of the example's size.
Answer answer(const Example& example, const std::vector<std::uint8_t>& rgb, std::size_t features);

/// A tensor of tests/golden/model_logits.safetensors.
const checkpoint::TensorView& golden_tensor(const std::string& name);

std::vector<float> numbers_of(const checkpoint::TensorView& view);

struct Difference {
  double largest = 0.0;
  double mean = 0.0;
};

Difference difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace assay::families
