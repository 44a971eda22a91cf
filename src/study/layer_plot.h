#pragma once
/// Layers and their noise as a picture that stands alone.
#include <string>
#include <vector>

namespace assay::study {

struct LayerBar {
  std::string layer;
  double sqnr_db = 0;  ///< one that is not finite gets no bar, but is written out
};

/// An SVG file's text, one bar a layer in the order given; readable on light and dark ground. Text
/// is escaped.
std::string layer_plot(const std::string& title, const std::vector<LayerBar>& layers);

}  // namespace assay::study
