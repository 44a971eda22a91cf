#include "pipeline/list_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "pipeline/csv.h"
#include "pipeline/image_files.h"

namespace assay::pipeline {
namespace {

constexpr std::uint64_t kMaxList = std::uint64_t{1} << 30;

struct Entry {
  std::string path;
  std::optional<int> label;
};

class ListFile : public Source {
 public:
  ListFile(std::filesystem::path folder, std::vector<Entry> entries)
      : folder_(std::move(folder)), entries_(std::move(entries)) {}
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return entries_.size(); }
  bool skip() override {
    if (next_ == entries_.size()) return false;
    ++next_;
    return true;
  }
  std::optional<Sample> next() override {
    if (next_ == entries_.size()) return std::nullopt;
    const Entry& entry = entries_[next_++];
    return Sample{0, entry.path, entry.label, folder_ / entry.path};
  }

 private:
  std::filesystem::path folder_;
  std::vector<Entry> entries_;
  std::size_t next_ = 0;
};

/// Which column holds what.
struct Columns {
  std::size_t path = 0;
  std::optional<std::size_t> label;
  std::size_t count = 0;  ///< of a row
  bool header = false;
};

/// A system's paths end at a NUL, so one inside would name another file than it shows.
void check_path(std::string_view path, std::string_view where) {
  if (path.empty()) fail(ErrorKind::bad_input, "{}: the path is empty", where);
  if (path.find('\0') != std::string_view::npos)
    fail(ErrorKind::bad_input, "{}: the path holds a NUL character", where);
}

Columns find_columns(const CsvRow& first, bool require_labels, const std::string& what) {
  Columns columns;
  columns.count = first.fields.size();
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find_if(
        first.fields, [&](const std::string& field) { return lower_case(field) == name; });
    return found == first.fields.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - first.fields.begin()));
  };
  if (const auto path = find("path")) {
    columns.header = true;
    columns.path = *path;
    columns.label = find("label");
  } else if (columns.count == 2) {
    columns.label = 1;
  } else if (columns.count > 2) {
    fail(ErrorKind::bad_input,
         "{}, line {}: {} columns; more than path and label need a first row that names \"path\" "
         "and \"label\"",
         what, first.line, columns.count);
  }
  if (require_labels && !columns.label)
    fail(ErrorKind::bad_input, "{}, line {}: no column of labels (expected path,label)", what,
         first.line);
  return columns;
}

std::vector<Entry> read_csv(const std::string& text, const std::string& what,
                            const LabelNames& labels, bool require_labels) {
  const std::vector<CsvRow> rows = parse_csv(text, what);
  std::vector<Entry> entries;
  if (rows.empty()) return entries;
  const Columns columns = find_columns(rows[0], require_labels, what);
  for (std::size_t i = columns.header ? 1 : 0; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    const std::string where = fmt::format("{}, line {}", what, row.line);
    if (row.fields.size() != columns.count)
      fail(ErrorKind::bad_input, "{}: {} columns, expected {}", where, row.fields.size(),
           columns.count);
    Entry entry{row.fields[columns.path], std::nullopt};
    check_path(entry.path, where);
    if (columns.label) entry.label = labels.parse(row.fields[*columns.label], where);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<int> json_label(const Json& object, const LabelNames& labels, bool require,
                              const std::string& where) {
  const auto label = object.find("label");
  if (label == object.end()) {
    if (require) fail(ErrorKind::bad_input, "{}: no \"label\"", where);
    return std::nullopt;
  }
  return labels.parse_json(*label, where);
}

std::vector<Entry> read_jsonl(std::string_view text, const std::string& what,
                              const LabelNames& labels, bool require_labels) {
  std::vector<Entry> entries;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = fmt::format("{}, line {}", what, line);
    const Json object = parse_json(row, where);
    if (!object.is_object() || !object.contains("path") || !object["path"].is_string())
      fail(ErrorKind::bad_input, "{}: expected an object with a string \"path\"", where);
    const auto path = object["path"].get<std::string>();
    check_path(path, where);
    entries.push_back({path, json_label(object, labels, require_labels, where)});
  }
  return entries;
}

}  // namespace

bool is_list_name(const std::filesystem::path& path) {
  const std::string extension = lower_case(path.extension().string());
  return extension == ".csv" || extension == ".jsonl";
}

std::unique_ptr<Source> open_list(const std::filesystem::path& list, const LabelNames& labels,
                                  bool require_labels) {
  const std::string text = read_text(list, kMaxList);
  const bool csv = lower_case(list.extension().string()) == ".csv";
  auto entries = csv ? read_csv(text, list.string(), labels, require_labels)
                     : read_jsonl(text, list.string(), labels, require_labels);
  if (entries.empty()) fail(ErrorKind::bad_input, "{}: the list is empty", list.string());
  return std::make_unique<ListFile>(list.parent_path(), std::move(entries));
}

}  // namespace assay::pipeline
