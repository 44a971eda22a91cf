#include "study/readme_values.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "study/report_text.h"

namespace assay::study {
namespace {

/// Where the walk is.
struct Place {
  std::string key;
  std::string model;
  std::string variant;
};

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

class Walk {
 public:
  explicit Walk(StudyValues& values) : values_(values) {}

  void visit(const Json& json, const Place& place) {
    if (json.is_number()) {
      values_.numbers.push_back({json.get<double>(), place.key, place.model, place.variant});
    } else if (json.is_string()) {
      const auto& text = json.get_ref<const std::string&>();
      if (place.key != "thumbnail" && has_digit(text)) texts_.insert(plain(text));
    } else if (json.is_array()) {
      for (const Json& entry : json) visit(entry, place);
    } else if (json.is_object()) {
      visit_object(json, place);
    }
  }

  void finish() {
    values_.texts.assign(texts_.begin(), texts_.end());
    std::ranges::stable_sort(values_.texts, std::greater{}, &std::string::size);
  }

 private:
  void visit_object(const Json& object, Place place) {
    if (place.key == "models") values_.models.insert(place.model = plain(text_of(object, "name")));
    if (place.key == "variants") {
      values_.variants.insert(place.variant = plain(text_of(object, "name")));
    }
    // An ablation names its variant; a changed image's "variant" is a class.
    if (const std::string variant = plain(text_of(object, "variant")); !variant.empty()) {
      place.variant = variant;
    }
    const bool keeps_key = place.key == "share" || place.key == "by_precision";
    for (const auto& [key, entry] : object.items()) {
      if (key == "samples_ms") continue;
      Place inside = place;
      if (!keeps_key && key != "value" && key != "interval") inside.key = key;
      visit(entry, inside);
    }
  }

  StudyValues& values_;
  std::set<std::string> texts_;
};

}  // namespace

StudyValues collect_values(const Json& study) {
  StudyValues values;
  Walk walk(values);
  walk.visit(study, {});
  walk.finish();
  if (const auto spec = study.find("spec"); spec != study.end()) {
    values.spec = text_of(*spec, "text");
  }
  return values;
}

}  // namespace assay::study
