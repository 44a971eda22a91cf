#include "study/schema.h"

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "study/schema_fields.h"
#include "study/schema_reader.h"
#include "study/schema_text.h"
#include "study/schema_writer.h"

namespace assay::study {
namespace {

/// Thumbnails and raw samples are most of it; a study of ten models has some 20 MB.
constexpr std::uint64_t kMaxFileBytes = 256 << 20;
constexpr int kMaxDepth = 16;

template <typename List>
void check_variants(const List& list, const std::set<std::string>& variants,
                    const std::string& where) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!variants.contains(list[i].variant)) {
      fail(ErrorKind::bad_input, "{}[{}].variant: no variant of this model is called '{:.60}'",
           where, i, list[i].variant);
    }
  }
}

template <typename List>
std::set<std::string> names_of(const List& list, const std::string& where) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name.empty()) fail(ErrorKind::bad_input, "{}[{}].name: is empty", where, i);
    if (!names.insert(list[i].name).second) {
      fail(ErrorKind::bad_input, "{}[{}].name: '{:.60}' appears twice", where, i, list[i].name);
    }
  }
  return names;
}

/// What holds between fields.
void check(const Study& study, std::string_view what) {
  names_of(study.models, fmt::format("{}: models", what));
  for (std::size_t i = 0; i < study.models.size(); ++i) {
    const Model& model = study.models[i];
    const std::string where = fmt::format("{}: models[{}].", what, i);
    const std::set<std::string> variants = names_of(model.variants, where + "variants");
    check_variants(model.ablations, variants, where + "ablations");
    check_variants(model.calibrators, variants, where + "calibrators");
    check_variants(model.sensitivity, variants, where + "sensitivity");
    check_variants(model.searches, variants, where + "searches");
  }
}

}  // namespace

MultiplyAdds MultiplyAdds::of(std::map<std::string, double> by_precision) {
  MultiplyAdds work;
  for (const auto& [precision, count] : by_precision) work.total += count;
  for (const auto& [precision, count] : by_precision) {
    work.share[precision] = work.total > 0 ? count / work.total : 0;
  }
  work.by_precision = std::move(by_precision);
  return work;
}

Json to_json(const Study& study) {
  check(study, "a study");
  SchemaWriter fields;
  fields("schema", kSchemaVersion);
  visit(fields, study);
  return fields.take();
}

std::string to_text(const Study& study) {
  try {
    return schema_text(to_json(study));
  } catch (const Json::exception&) {
    fail(ErrorKind::internal, "study '{:.60}': a text in it is not UTF-8", study.name);
  }
}

Study from_json(const Json& json, std::string_view what) {
  SchemaReader fields(json, "", what);
  std::uint64_t schema = 0;
  fields("schema", schema);
  if (schema != kSchemaVersion) {
    fail(ErrorKind::unsupported, "{}: schema {}, this build of Assay knows {}", what, schema,
         kSchemaVersion);
  }
  Study study;
  visit(fields, study);
  fields.finish();
  check(study, what);
  return study;
}

Study parse_study(std::string_view text, std::string_view what) {
  return from_json(parse_json(text, what, kMaxDepth), what);
}

Study read_study(const std::filesystem::path& path) {
  return parse_study(read_text(path, kMaxFileBytes), path.string());
}

void write_study(const Study& study, const std::filesystem::path& path) {
  write_file(path, to_text(study));
}

}  // namespace assay::study
