#pragma once
/// Which of a study's values each chart of the report shows. Every function gives the chart's HTML,
/// or nothing where there is nothing to draw.
#include <string>

#include "study/schema.h"

namespace assay::study {

std::string tradeoff_chart(const Model& model);
std::string noise_chart(const Model& model);
std::string agreement_chart(const Model& model);
std::string size_chart(const Model& model);
/// One chart a boundary and batch size.
std::string speed_charts(const Model& model);
std::string ablation_chart(const Model& model, const Variant& variant);
std::string calibrator_chart(const Model& model, const Variant& variant);
std::string sensitivity_chart(const Model& model, const Variant& variant);
std::string range_chart(const Variant& variant);

}  // namespace assay::study
