#pragma once
/// The tiny bundle with its one product narrow.
#include <string>

#include "bundle/tiny_bundle.h"
#include "graph/serialize.h"
#include "quant/quantize.h"

namespace assay::test {

/// A recipe for the precision, in bare words.
inline std::string tiny_recipe(const std::string& precision) {
  const std::string base = precision == "fp16" ? "fp16" : "bf16";
  return "name = \"tiny-" + precision + "\"\nprecision = \"" + precision + "\"\nbase = \"" + base +
         "\"\n\n[[rule]]\nprecision = \"" + precision + "\"\n";
}

inline quant::Calibration tiny_calibration(const graph::Graph& graph) {
  quant::Calibration calibration;
  calibration.architecture = "tiny";
  calibration.graph = graph::fingerprint(graph);
  calibration.source.observers = {"max"};
  calibration.source.images = 7;
  calibration.operands.push_back({"head", "input", {{"max", {-1, 1}}}, {}, {}});
  return calibration;
}

/// At "fp16", "bf16", "int8", "fp8" or "nvfp4".
inline bundle::Bundle narrow_bundle(const std::string& precision) {
  bundle::Bundle bundle = tiny_bundle();
  const quant::Recipe recipe = quant::parse_recipe(tiny_recipe(precision), "tiny.toml");
  const quant::Calibration calibration = tiny_calibration(*bundle.graph);
  bundle.precision = precision;
  bundle.graph = std::make_shared<const graph::Graph>(
      quant::quantize(*bundle.graph, recipe, &calibration).graph);
  bundle.provenance.recipe = recipe;
  if (quant::needs_calibration(recipe)) bundle.provenance.calibration = calibration.source;
  return bundle;
}

}  // namespace assay::test
