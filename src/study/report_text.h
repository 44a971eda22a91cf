#pragma once
/// How figures and names are written, alike in README.md and report.html.
///
/// Sentences shared by the two are *marked text*: plain text in which `code` stands between
/// backticks. Names go in with code(), which leaves no backtick inside; markdown() and html() turn
/// marked text into what each page needs, escaped.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/schema.h"

namespace assay::study {

/// "98.72%" of a share.
std::string percent(double share);
/// "98.45–98.95%".
std::string percent(const Interval& shares);
/// "24.1 dB"; "no noise" where it is infinite, "not finite" for NaN and below every number.
std::string decibels(double sqnr);
std::string decibels(const Interval& sqnr);
/// "1.234 ms", four digits or so.
std::string milliseconds(double time);
std::string milliseconds(const Interval& time);
/// "1.43×".
std::string times(double ratio);
std::string times(const Interval& ratio);
/// "3.41 MB", decimal.
std::string megabytes(std::uint64_t bytes);
/// "152.3 M".
std::string millions(double count);
/// "9,500".
std::string count(std::uint64_t number);
/// Three significant digits, and all before the point: "0.0312", "65,504", "1.2e-07"; "not
/// finite".
std::string figure(double number);

/// "device", "call" or "end to end".
std::string boundary_name(std::string_view boundary);
/// The threshold as a condition: "agreement of at least 99.00%".
std::string threshold_text(const std::string& name, double value);

/// A name as marked text. Line ends become spaces.
std::string code(std::string_view name);
/// Plain text as marked text: backticks become apostrophes, line ends spaces.
std::string plain(std::string_view text);
/// The same, with a full stop where it has none.
std::string sentence(std::string_view text);
/// "a, b and c"; "nothing" for an empty list.
std::string listed(std::span<const std::string> items);

/// Marked text as Markdown that stays in its paragraph or table cell.
std::string markdown(std::string_view marked);
/// Marked text as HTML.
std::string html(std::string_view marked);

/// What closeness is closeness to: "fp32", or "the reference" where that is logits from a file. Of
/// a study where that is so of any model.
std::string reference_name(const Model& model);
std::string reference_name(const Study& study);

/// What a search's step without a layer is about.
inline constexpr const char* kWholeNetwork = "the whole network";

/// The name of a class, or "class 12" where there is none; plain.
std::string class_name(const Study& study, std::uint64_t index);

/// fp32 with finite numbers: what the others are compared with. There is nothing to decide of it.
bool is_baseline(const Variant& variant);

/// The row that stands for a variant's speed: the call at the smallest batch, else what comes
/// first. Null where it was not timed.
const SpeedRow* headline_speed(const Variant& variant);

/// The layers of a variant's sensitivity, the noisiest first, `most` at most.
std::vector<const LayerSensitivity*> worst_layers(const Model& model, const std::string& variant,
                                                  std::size_t most);

/// 10^(−SQNR/10): noise power as a part of the signal's.
double noise_power(double sqnr_db);

}  // namespace assay::study
