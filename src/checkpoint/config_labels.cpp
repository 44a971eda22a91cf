#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/config_parts.h"
#include "checkpoint/quote.h"

namespace assay::checkpoint {
namespace {

/// A value and the object it was found in, for messages.
struct Found {
  const Json* value = nullptr;
  const Fields* fields = nullptr;
  std::string_view key;
};

Found find_first(const Fields& root, const Fields& pretrained,
                 std::initializer_list<std::string_view> keys) {
  for (const Fields* fields : {&root, &pretrained}) {
    for (const std::string_view key : keys) {
      if (const Json* value = fields->find(key); value != nullptr && !value->empty()) {
        return {value, fields, key};
      }
    }
  }
  return {};
}

std::vector<std::string> made_up(int classes) {
  std::vector<std::string> labels;
  labels.reserve(static_cast<std::size_t>(classes));
  for (int i = 0; i < classes; ++i) {
    labels.push_back(fmt::format("class {}", i));
  }
  return labels;
}

std::string text_of(const Json& value, const Found& found) {
  if (!value.is_string()) {
    found.fields->refuse(found.key, "one string a class");
  }
  return value.get<std::string>();
}

std::vector<std::string> from_list(const Found& found, int classes) {
  if (found.value->size() != static_cast<std::size_t>(classes)) {
    fail(ErrorKind::bad_input, "{} has {} names, but num_classes is {}",
         found.fields->place(found.key), found.value->size(), classes);
  }
  std::vector<std::string> labels;
  for (const Json& name : *found.value) {
    labels.push_back(text_of(name, found));
  }
  return labels;
}

/// An object from class index to name, where an index may lack.
std::vector<std::string> from_index(const Found& found, int classes) {
  std::vector<std::string> labels = made_up(classes);
  std::vector<bool> named(labels.size());
  for (const auto& [key, name] : found.value->items()) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc() || end != key.data() + key.size() || index >= labels.size()) {
      fail(ErrorKind::bad_input, "{} has the key {}, expected the index of one of {} classes",
           found.fields->place(found.key), quote(key), classes);
    }
    if (named[index]) {
      fail(ErrorKind::bad_input, "{} names class {} twice", found.fields->place(found.key), index);
    }
    named[index] = true;
    labels[index] = text_of(name, found);
  }
  return labels;
}

std::vector<std::string> from_names(const Found& found, int classes) {
  if (found.value->is_array()) {
    return from_list(found, classes);
  }
  if (found.value->is_object()) {
    return from_index(found, classes);
  }
  found.fields->refuse(found.key, "a list of names, or an object from index to name");
}

/// "n01440764": a name for machines, which its description tells a person.
bool is_wordnet_id(std::string_view name) {
  return name.size() == 9 && name[0] == 'n' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void describe(std::vector<std::string>& labels, const Found& descriptions) {
  if (descriptions.value->is_array()) {
    const std::vector<std::string> texts = from_list(descriptions, static_cast<int>(labels.size()));
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = is_wordnet_id(labels[i]) ? texts[i] : labels[i];
    }
    return;
  }
  if (!descriptions.value->is_object()) {
    descriptions.fields->refuse(descriptions.key, "an object from name to description");
  }
  // An ordered object searches its keys one by one; there may be 21,841 of them.
  std::map<std::string, const Json*> texts;
  for (const auto& [name, text] : descriptions.value->items()) {
    texts.emplace(name, &text);
  }
  for (std::string& label : labels) {
    const auto text = texts.find(label);
    if (is_wordnet_id(label) && text != texts.end()) {
      label = text_of(*text->second, descriptions);
    }
  }
}

/// transformers writes LABEL_0, LABEL_1, ... where nobody named the classes.
bool is_named(const Found& id2label) {
  const auto items = id2label.value->items();
  return !std::all_of(items.begin(), items.end(), [](const auto& item) {
    return item.value().is_string() &&
           item.value().template get_ref<const std::string&>() == "LABEL_" + item.key();
  });
}

/// Answers are lines of columns between tabs, one label a line: a label must not break them.
void check_printable(const std::vector<std::string>& labels, const Fields& root) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].empty()) {
      fail(ErrorKind::bad_input, "{}: the label of class {} is empty", root.what(), i);
    }
    if (std::any_of(labels[i].begin(), labels[i].end(), is_control)) {
      fail(ErrorKind::bad_input, "{}: the label of class {} is {}: it holds a control character",
           root.what(), i, quote(labels[i]));
    }
  }
}

std::vector<std::string> find_labels(const Fields& root, const Fields& pretrained, int classes,
                                     bool wrapper) {
  const Found descriptions = find_first(root, pretrained, {"label_descriptions"});
  if (const Found names = find_first(root, pretrained, {"label_names", "labels"}); names.value) {
    std::vector<std::string> labels = from_names(names, classes);
    if (descriptions.value) {
      describe(labels, descriptions);
    }
    return labels;
  }
  if (descriptions.value && descriptions.value->is_array()) {
    return from_list(descriptions, classes);
  }
  if (wrapper) {
    const Found id2label = find_first(root, root, {"id2label"});
    if (id2label.value && id2label.value->is_object() && is_named(id2label)) {
      return from_index(id2label, classes);
    }
  }
  const std::span<const std::string_view> imagenet = imagenet1k_labels();
  if (std::cmp_equal(classes, imagenet.size())) {
    return {imagenet.begin(), imagenet.end()};
  }
  return made_up(classes);
}

}  // namespace

std::vector<std::string> labels_from(const Fields& root, const Fields& pretrained, int classes,
                                     bool wrapper) {
  std::vector<std::string> labels = find_labels(root, pretrained, classes, wrapper);
  check_printable(labels, root);
  return labels;
}

}  // namespace assay::checkpoint
