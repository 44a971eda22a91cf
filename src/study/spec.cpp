#include "study/spec.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "base/toml.h"
#include "bundle/bundle.h"
#include "quant/quant.h"

namespace assay::study {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 40;
constexpr std::uint64_t kMaxSpecBytes = 1 << 20;
constexpr std::int64_t kMaxImagesInMemory = 20'000;
constexpr std::int64_t kMaxRounds = 100'000;

std::uint64_t whole(const TomlTable& table, const char* key, std::uint64_t absent, std::int64_t low,
                    std::int64_t high) {
  return table.has(key) ? static_cast<std::uint64_t>(table.integer(key, low, high)) : absent;
}

std::string text(const TomlTable& table, const char* key, const char* absent) {
  return table.has(key) ? table.text(key) : absent;
}

std::vector<std::string> texts(const TomlTable& table, const char* key) {
  return table.has(key) ? table.texts(key) : std::vector<std::string>{};
}

int threads(const TomlTable& table) {
  return static_cast<int>(whole(table, "threads", 0, 1, kMaxThreads));
}

/// Names become parts of file names.
std::string plain_name(const TomlTable& table) {
  std::string name = table.text("name");
  const bool plain = std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (!plain || name.empty() || name.front() == '.' || name.size() > 80)
    table.refuse("name", "letters, digits, '-', '_' and '.' alone, 80 at most");
  return name;
}

std::string new_name(const TomlTable& table, std::set<std::string>& taken) {
  std::string name = plain_name(table);
  if (!taken.insert(name).second)
    table.complain("name", fmt::format("the name '{}' is given twice", name));
  return name;
}

SelectionSpec selection(const TomlTable& document, const char* key) {
  SelectionSpec selection;
  if (!document.has(key)) return selection;
  const TomlTable table = document.table(key);
  selection.stride = whole(table, "stride", 1, 1, kMany);
  selection.offset = whole(table, "offset", 0, 0, kMany);
  selection.limit = whole(table, "limit", 0, 1, kMany);
  table.finish();
  return selection;
}

AutoSpec search(const TomlTable& table) {
  AutoSpec search;
  search.from = table.text("from");
  if (search.from == kAuto || search.from == kFp32)
    table.refuse("from", "a recipe that makes layers narrow");
  if (table.has("gain_db") == table.has("sqnr_db"))
    table.complain("gain_db", "either gain_db or sqnr_db says what a search is to reach");
  if (table.has("gain_db")) search.gain_db = table.number("gain_db", 0.01, 100);
  if (table.has("sqnr_db")) search.sqnr_db = table.number("sqnr_db", 0.01, 200);
  if (table.has("keep_multiply_adds"))
    search.keep_multiply_adds = table.number("keep_multiply_adds", 0, 1);
  search.images = whole(table, "images", 64, 1, kMaxImagesInMemory);
  return search;
}

VariantSpec variant(const TomlTable& table, std::set<std::string>& names) {
  VariantSpec variant;
  variant.name = new_name(table, names);
  variant.recipe = table.text("recipe");
  if (variant.recipe == kAuto) variant.search = search(table);
  variant.backend = text(table, "backend", "cpu");
  const auto backends = backend::built_backends();
  if (std::ranges::find(backends, variant.backend) == backends.end())
    table.refuse("backend", fmt::format("one of this build's: {}", fmt::join(backends, ", ")));
  variant.level = static_cast<int>(whole(table, "level", 1, 0, 1));
  variant.threads = threads(table);
  if (variant.threads > 0 && variant.backend != "cpu")
    table.complain("threads",
                   fmt::format("variant '{}': threads is for the cpu backend; {} does not take it: "
                               "leave threads out",
                               variant.name, variant.backend));
  table.finish();
  return variant;
}

template <typename Entry>
void refuse_twice(const TomlTable& table, const char* key, std::vector<Entry> entries) {
  std::ranges::sort(entries);
  const auto twice = std::ranges::adjacent_find(entries);
  if (twice != entries.end())
    table.complain(key, fmt::format("{}: {} is given twice", key, *twice));
}

/// Names in a list that must be variants'.
std::vector<std::string> variant_names(const TomlTable& table, const char* key, const Spec& spec) {
  std::vector<std::string> names = texts(table, key);
  refuse_twice(table, key, names);
  for (const std::string& name : names) {
    if (std::ranges::find(spec.variants, name, &VariantSpec::name) == spec.variants.end())
      table.complain(key, fmt::format("{}: there is no variant '{}'", key, name));
    if (spec.variant(name).recipe == kFp32)
      table.complain(key, fmt::format("{}: the variant '{}' rounds nothing", key, name));
  }
  return names;
}

std::vector<std::string> observers(const TomlTable& table) {
  std::vector<std::string> observers = texts(table, "observers");
  const auto known = quant::observers();
  for (const std::string& observer : observers)
    if (std::ranges::find(known, observer) == known.end())
      table.refuse("observers", fmt::format("some of {}", fmt::join(known, ", ")));
  refuse_twice(table, "observers", observers);
  return observers;
}

AblationSpec ablation(const TomlTable& document, const Spec& spec) {
  AblationSpec ablation;
  if (!document.has("ablation")) return ablation;
  const TomlTable table = document.table("ablation");
  ablation.images = whole(table, "images", ablation.images, 1, kMaxImagesInMemory);
  ablation.variants = variant_names(table, "variants", spec);
  ablation.calibrators = variant_names(table, "calibrators", spec);
  ablation.sensitivity = variant_names(table, "sensitivity", spec);
  ablation.observers = observers(table);
  table.finish();
  return ablation;
}

SpeedSpec speed(const TomlTable& document) {
  SpeedSpec speed;
  if (!document.has("speed")) return speed;
  const TomlTable table = document.table("speed");
  if (table.has("batches")) {
    speed.batches.clear();
    for (const std::int64_t batch : table.integers("batches", 1, bundle::kMaxBatch))
      speed.batches.push_back(static_cast<std::uint64_t>(batch));
    if (speed.batches.empty()) table.refuse("batches", "one batch size or more");
    refuse_twice(table, "batches", speed.batches);
  }
  speed.warmup = whole(table, "warmup", speed.warmup, 0, kMaxRounds);
  speed.rounds = whole(table, "rounds", speed.rounds, 1, kMaxRounds);
  table.finish();
  return speed;
}

std::map<std::string, double> thresholds(const TomlTable& document) {
  std::map<std::string, double> thresholds;
  if (!document.has("thresholds")) return thresholds;
  const TomlTable table = document.table("thresholds");
  const auto take = [&](const char* name, double high) {
    if (table.has(name)) thresholds[name] = table.number(name, 0, high);
  };
  take("agreement", 1);
  take("top1_drop", 1);
  take("speedup", 1000);
  take("sqnr_db", 200);
  table.finish();
  return thresholds;
}

std::vector<VariantSpec> variants(const TomlTable& document) {
  std::set<std::string> names;
  std::vector<VariantSpec> variants;
  for (const TomlTable& table : document.tables("variant"))
    variants.push_back(variant(table, names));
  const bool compared = !variants.empty() && variants.front().name == kFp32 &&
                        variants.front().recipe == kFp32 && variants.front().backend == "cpu";
  if (!compared)
    document.complain("variant",
                      "the first [[variant]] needs name = \"fp32\" and recipe = \"fp32\" on the "
                      "cpu backend: all others are compared with it");
  return variants;
}

std::vector<ModelSpec> models(const TomlTable& document) {
  std::set<std::string> names;
  std::vector<ModelSpec> models;
  for (const TomlTable& table : document.tables("model")) {
    models.push_back(
        {new_name(table, names), table.text("checkpoint"), text(table, "reference", "")});
    table.finish();
  }
  if (models.empty())
    document.complain("model", "there is no [[model]]: a study is of one checkpoint at least");
  return models;
}

/// Names may have dots, and a search's result is kept as MODEL.VARIANT.toml.
void refuse_one_file_for_two(const TomlTable& document, const Spec& spec) {
  std::map<std::string, std::string> taken;
  for (const ModelSpec& model : spec.models)
    for (const VariantSpec& variant : spec.variants) {
      if (!variant.search) continue;
      const std::string whose =
          fmt::format("model '{}' with variant '{}'", model.name, variant.name);
      const auto [other, added] = taken.emplace(model.name + "." + variant.name + ".toml", whose);
      if (!added)
        document.complain("variant", fmt::format("{} and {} would both be kept as {}: rename one",
                                                 other->second, whose, other->first));
    }
}

}  // namespace

std::filesystem::path Spec::resolve(const std::string& path) const {
  return (folder / path).lexically_normal();
}

const VariantSpec& Spec::variant(std::string_view variant_name) const {
  const auto found = std::ranges::find(variants, variant_name, &VariantSpec::name);
  if (found == variants.end()) fail(ErrorKind::internal, "no variant '{}'", variant_name);
  return *found;
}

Spec parse_spec(std::string_view text, std::string_view what, std::filesystem::path folder) {
  const TomlTable document = TomlTable::parse(text, std::string(what));
  Spec spec;
  spec.text = text;
  spec.folder = std::move(folder);
  spec.name = plain_name(document);
  spec.title = document.text("title");
  spec.question = document.text("question");
  spec.data = document.text("data");
  spec.threads = threads(document);
  spec.calibration = selection(document, "calibration");
  spec.held_out = selection(document, "held_out");
  spec.models = models(document);
  spec.variants = variants(document);
  refuse_one_file_for_two(document, spec);
  spec.ablation = ablation(document, spec);
  spec.speed = speed(document);
  spec.thresholds = thresholds(document);
  spec.hypotheses = texts(document, "hypotheses");
  spec.revisit = texts(document, "revisit");
  document.finish();
  return spec;
}

Spec read_spec(const std::filesystem::path& path) {
  return parse_spec(read_text(path, kMaxSpecBytes), path.string(), path.parent_path());
}

}  // namespace assay::study
