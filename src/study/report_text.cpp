#include "study/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/html.h"

namespace assay::study {
namespace {

constexpr const char* kNotFinite = "not finite";
/// What Markdown would take for markup.
constexpr std::string_view kSpecial = "\\*_[]<>|#~&";

/// Low and high with one unit; the unit is dropped behind the first where both have it.
std::string range_text(std::string low, const std::string& high, std::string_view unit) {
  if (low.ends_with(unit) && high.ends_with(unit)) low.resize(low.size() - unit.size());
  return low + "–" + high;
}

}  // namespace

std::string percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.2f}%", share * 100) : kNotFinite;
}

std::string percent(const Interval& shares) {
  return range_text(percent(shares.low), percent(shares.high), "%");
}

std::string decibels(double sqnr) {
  if (std::isfinite(sqnr)) return fmt::format("{:.1f} dB", sqnr);
  return sqnr > 0 ? "no noise" : kNotFinite;
}

std::string decibels(const Interval& sqnr) {
  if (!std::isfinite(sqnr.low) && decibels(sqnr.low) == decibels(sqnr.high)) {
    return decibels(sqnr.low);
  }
  return range_text(decibels(sqnr.low), decibels(sqnr.high), " dB");
}

std::string milliseconds(double time) {
  const int decimals = time < 10 ? 3 : time < 100 ? 2 : 1;
  return fmt::format("{:.{}f} ms", time, decimals);
}

std::string milliseconds(const Interval& time) {
  return range_text(milliseconds(time.low), milliseconds(time.high), " ms");
}

std::string times(double ratio) { return fmt::format("{:.2f}×", ratio); }

std::string times(const Interval& ratio) {
  return range_text(times(ratio.low), times(ratio.high), "×");
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6);
}

std::string millions(double count) { return fmt::format("{:.1f} M", count / 1e6); }

std::string count(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string figure(double number) {
  if (!std::isfinite(number)) return kNotFinite;
  const double magnitude = std::abs(number);
  if (magnitude < 999.5 || magnitude >= 1e9) return fmt::format("{:.3g}", number);
  return (number < 0 ? "-" : "") + count(static_cast<std::uint64_t>(std::round(magnitude)));
}

std::string boundary_name(std::string_view boundary) {
  return boundary == "end_to_end" ? "end to end" : std::string(boundary);
}

std::string threshold_text(const std::string& name, double value) {
  if (name == "agreement") return "agreement of at least " + percent(value);
  if (name == "top1_drop") return "top-1 at most " + percent(value) + " (of all images) lower";
  if (name == "speedup") return "speed of at least " + times(value) + " fp32's";
  if (name == "sqnr_db") return "SQNR of at least " + decibels(value);
  return code(name) + " " + figure(value);
}

std::string plain(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c == '`') c = '\'';
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return result;
}

std::string sentence(std::string_view text) {
  std::string result = plain(text);
  if (!result.empty() && !result.ends_with('.')) result += '.';
  return result;
}

std::string code(std::string_view name) { return "`" + plain(name) + "`"; }

std::string listed(std::span<const std::string> items) {
  if (items.empty()) return "nothing";
  std::string text = items.front();
  for (std::size_t i = 1; i < items.size(); ++i) {
    text += (i + 1 == items.size() ? " and " : ", ") + items[i];
  }
  return text;
}

std::string markdown(std::string_view marked) {
  std::string text;
  bool in_code = false;
  for (const char c : marked) {
    if (c == '`') in_code = !in_code;
    // A table's cell ends at a bar even inside code.
    const bool special = in_code ? c == '|' : kSpecial.find(c) != kSpecial.npos;
    if (special) text += '\\';
    text += c;
  }
  return text;
}

std::string html(std::string_view marked) {
  std::string text;
  bool in_code = false;
  for (std::size_t begin = 0; begin <= marked.size();) {
    const std::size_t end = std::min(marked.find('`', begin), marked.size());
    text += escape(marked.substr(begin, end - begin));
    if (end == marked.size()) break;
    text += in_code ? "</code>" : "<code>";
    in_code = !in_code;
    begin = end + 1;
  }
  return in_code ? text + "</code>" : text;
}

std::string class_name(const Study& study, std::uint64_t index) {
  if (index < study.data.classes.size()) return study.data.classes[index];
  return fmt::format("class {}", index);
}

std::string reference_name(const Model& model) {
  return model.reference.kind == "file" ? "the reference" : "fp32";
}

std::string reference_name(const Study& study) {
  const bool all_fp32 = std::ranges::all_of(
      study.models, [](const Model& model) { return reference_name(model) == "fp32"; });
  return all_fp32 ? "fp32" : "the reference";
}

bool is_baseline(const Variant& variant) {
  return variant.precision == "fp32" && variant.verdict.ship;
}

const SpeedRow* headline_speed(const Variant& variant) {
  const SpeedRow* best = nullptr;
  for (const SpeedRow& row : variant.speed.batch) {
    const bool is_call = row.boundary == "call";
    const bool best_is_call = best != nullptr && best->boundary == "call";
    if (best == nullptr || (is_call && !best_is_call) ||
        (is_call == best_is_call && row.batch < best->batch)) {
      best = &row;
    }
  }
  return best;
}

std::vector<const LayerSensitivity*> worst_layers(const Model& model, const std::string& variant,
                                                  std::size_t most) {
  std::vector<const LayerSensitivity*> layers;
  for (const LayerSensitivity& layer : model.sensitivity) {
    if (layer.variant == variant) layers.push_back(&layer);
  }
  // NaN compares with nothing; it is the worst there is.
  const auto rank = [](const LayerSensitivity* layer) {
    return std::isnan(layer->error.sqnr_db) ? -INFINITY : layer->error.sqnr_db;
  };
  std::ranges::stable_sort(layers, {}, rank);
  if (layers.size() > most) layers.resize(most);
  return layers;
}

double noise_power(double sqnr_db) { return std::pow(10, -sqnr_db / 10); }

}  // namespace assay::study
