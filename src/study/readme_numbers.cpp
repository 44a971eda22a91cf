#include "study/readme_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "study/readme_page.h"
#include "study/readme_values.h"

namespace assay::study {
namespace {

using Keys = std::set<std::string, std::less<>>;

struct Unit {
  std::string_view text;
  double times;  ///< a value in this unit is value × times / over
  double over;
  Keys keys;
};

const std::vector<Unit>& units() {
  static const std::vector<Unit> all{
      {"%",
       100,
       1,
       {"top1", "top1_interval", "top5", "top5_interval", "agreement", "agreement_fp32",
        "agreement_fp16", "share", "top1_drop"}},
      {" dB", 1, 1, {"sqnr_db", "budget_db"}},
      {" ms", 1, 1, {"median_ms", "interval_ms"}},
      {"×", 1, 1, {"ratio_to_fp32", "speedup"}},
      {" MB", 1, 1e6, {"bundle_bytes", "weight_bytes"}},
      {" GB", 1, 1, {"memory_gb"}},
      {" M", 1, 1e6, {"multiply_adds", "total", "by_precision"}},
  };
  return all;
}

/// Under which headings only some fields are meant.
const std::map<std::string, Keys, std::less<>>& columns() {
  static const std::map<std::string, Keys, std::less<>> all{
      {"images", {"images"}},
      {"top-1", {"top1", "top1_interval"}},
      {"top-5", {"top5", "top5_interval"}},
      {"agreement with fp32", {"agreement", "agreement_fp32"}},
      {"agreement with the reference", {"agreement", "agreement_fp32"}},
      {"agreement with fp16", {"agreement_fp16"}},
      {"SQNR", {"sqnr_db"}},
      {"SQNR after it", {"sqnr_db"}},
      {"KL", {"kl"}},
      {"lost", {"lost"}},
      {"gained", {"gained"}},
      {"McNemar p", {"p_value"}},
      {"batch", {"batch"}},
      {"median", {"median_ms"}},
      {"interval", {"interval_ms"}},
      {"against fp32", {"ratio_to_fp32"}},
      {"bundle", {"bundle_bytes"}},
      {"weights", {"weight_bytes"}},
      {"steps", {"count"}},
      {"conversions", {"conversions"}},
      {"multiply-adds", {"total", "multiply_adds"}},
      {"of them in", {"share"}},
      {"largest", {"largest"}},
      {"format's largest", {"format_max"}},
      {"part of it", {"share"}},
      {"threads", {"threads"}},
      {"level", {"level"}},
      {"changed in all", {"changed_count"}},
      {"image", {"image"}},
      {"label", {"label"}},
      {"reference says", {"reference"}},
      {"variant says", {"variant"}},
      {"reference's margin", {"reference_margin"}},
  };
  return all;
}

/// The number that begins at `at`: its digits without separators, and where it ends.
struct Token {
  std::string digits;
  std::size_t end = 0;
};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && is_digit(text[at]);
}

Token token_at(std::string_view text, std::size_t at) {
  Token token{"", at};
  if (at > 0 && text[at - 1] == '-' && (at == 1 || text[at - 2] == ' ' || text[at - 2] == '(')) {
    token.digits = "-";
  }
  while (digit_at(text, token.end) ||
         (token.end < text.size() && text[token.end] == ',' && digit_at(text, token.end + 1))) {
    if (text[token.end] != ',') token.digits += text[token.end];
    ++token.end;
  }
  if (token.end < text.size() && text[token.end] == '.' && digit_at(text, token.end + 1)) {
    do token.digits += text[token.end++];
    while (digit_at(text, token.end));
  }
  if (token.end + 2 < text.size() && text[token.end] == 'e' &&
      (text[token.end + 1] == '-' || text[token.end + 1] == '+') && digit_at(text, token.end + 2)) {
    token.digits += text.substr(token.end, 2);
    token.end += 2;
    while (digit_at(text, token.end)) token.digits += text[token.end++];
  }
  return token;
}

const Unit* unit_at(std::string_view text, std::size_t at) {
  for (const Unit& unit : units()) {
    const std::size_t end = at + unit.text.size();
    if (text.substr(std::min(at, text.size())).starts_with(unit.text) &&
        (end >= text.size() || !is_letter(text[end]))) {
      return &unit;
    }
  }
  // "98.1–98.9%": the unit stands behind the second number.
  constexpr std::string_view kDash = "–";
  if (text.substr(std::min(at, text.size())).starts_with(kDash)) {
    std::size_t next = at + kDash.size();
    if (next < text.size() && text[next] == '-') ++next;
    if (digit_at(text, next)) return unit_at(text, token_at(text, next).end);
  }
  return nullptr;
}

/// `value` with as many digits as `digits` has.
std::string rounded_like(double value, const std::string& digits) {
  const std::size_t exponent = digits.find('e');
  const std::size_t point = digits.find('.');
  const std::size_t end = std::min(exponent, digits.size());
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(end - point - 1);
  return exponent == std::string::npos ? fmt::format("{:.{}f}", value, decimals)
                                       : fmt::format("{:.{}e}", value, decimals);
}

bool has_unit(const std::string& key) {
  return std::ranges::any_of(units(), [&](const Unit& unit) { return unit.keys.contains(key); });
}

class Checker {
 public:
  explicit Checker(const StudyValues& values) : values_(values) {
    for (const StudyValue& value : values.numbers) by_key_[value.key].push_back(&value);
  }

  void check(const PageFragment& fragment) {
    const auto column = columns().find(fragment.column);
    const Keys* allowed = column == columns().end() ? nullptr : &column->second;
    for (const std::string& piece : unexplained_text(fragment, values_)) {
      for (std::size_t at = 0; at < piece.size(); ++at) {
        if (!is_digit(piece[at])) continue;
        const Token token = token_at(piece, at);
        const bool in_word = (at > 0 && is_letter(piece[at - 1])) ||
                             (token.end < piece.size() && is_letter(piece[token.end]));
        const Unit* unit = unit_at(piece, token.end);
        if (in_word || !explained(token.digits, unit, allowed, fragment)) {
          const std::string shown = token.digits + std::string(unit ? unit->text : "");
          found_.push_back({fragment.line, shown});
        }
        at = token.end - 1;
      }
    }
  }

  std::vector<UnexplainedNumber> take() { return std::move(found_); }

 private:
  static bool in_scope(const StudyValue& value, const PageFragment& fragment) {
    const auto holds = [](const auto& names, const std::string& name) {
      return names.empty() || name.empty() || names.contains(name);
    };
    return holds(fragment.models, value.model) && holds(fragment.variants, value.variant);
  }

  [[nodiscard]] bool explained(const std::string& digits, const Unit* unit, const Keys* allowed,
                               const PageFragment& fragment) const {
    const double written = std::strtod(digits.c_str(), nullptr);
    for (const auto& [key, values] : by_key_) {
      if (unit == nullptr ? has_unit(key) : !unit->keys.contains(key)) continue;
      if (allowed != nullptr && !allowed->contains(key)) continue;
      for (const StudyValue* value : values) {
        const double scaled =
            unit == nullptr ? value->value : value->value * unit->times / unit->over;
        // Rounding moves no number further; writing every candidate out would take long.
        if (std::abs(scaled - written) > 0.6 + 0.6 * std::abs(written)) continue;
        if (in_scope(*value, fragment) && rounded_like(scaled, digits) == digits) return true;
      }
    }
    return false;
  }

  const StudyValues& values_;
  std::map<std::string, std::vector<const StudyValue*>> by_key_;
  std::vector<UnexplainedNumber> found_;
};

}  // namespace

std::vector<UnexplainedNumber> unexplained_numbers(std::string_view readme, const Json& study) {
  const StudyValues values = collect_values(study);
  Checker checker(values);
  for (const PageFragment& fragment : page_fragments(readme, values)) checker.check(fragment);
  return checker.take();
}

}  // namespace assay::study
