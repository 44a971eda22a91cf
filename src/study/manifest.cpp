#include "study/manifest.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/toml.h"
#include "bundle/bundle.h"
#include "checkpoint/checkpoint.h"
#include "families/families.h"
#include "quant/quant.h"
#include "study/schema.h"

namespace assay::study {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxManifestBytes = 256 << 10;
constexpr std::uint64_t kMaxConfigBytes = 4 << 20;
constexpr std::int64_t kMaxImages = std::int64_t{1} << 40;

bool is_word(std::string_view text, std::string_view beside_letters) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return kLetters.find(c) != std::string_view::npos ||
           beside_letters.find(c) != std::string_view::npos;
  });
}

std::string filled(const TomlTable& table, std::string_view key, std::string_view expected) {
  std::string text = table.text(key);
  if (text.empty()) table.refuse(key, expected);
  return text;
}

/// A path within the folder that manifests speak of.
std::string inner_path(const TomlTable& table, std::string_view key) {
  std::string text = filled(table, key, "a path");
  const fs::path path = fs::path(text).lexically_normal();
  if (path.is_absolute() || *path.begin() == "..") {
    table.refuse(key, "a relative path that stays within the folder above the manifest's");
  }
  return text;
}

graph::Precision precision_of(const TomlTable& table) {
  const auto precision = graph::precision_from_name(table.text("precision"));
  if (!precision) table.refuse("precision", "fp32, fp16, bf16, int8, fp8 or nvfp4");
  return *precision;
}

const families::Family& family_of(const TomlTable& document) {
  const std::string name = document.text("family");
  const auto all = families::all();
  const auto found = std::ranges::find(all, name, &families::Family::name);
  if (found != all.end()) return *found;
  std::vector<std::string_view> names;
  for (const families::Family& family : all) names.push_back(family.name);
  document.refuse("family", fmt::format("one of {}", fmt::join(names, ", ")));
}

void check_checkpoint(const TomlTable& source, const fs::path& folder, const Manifest& manifest) {
  const fs::path config = folder / "config.json";
  if (!fs::is_regular_file(config))
    source.refuse("path", "a checkpoint's folder, with config.json");
  const checkpoint::ModelConfig parsed =
      checkpoint::parse_config(read_text(config, kMaxConfigBytes), config.string());
  if (parsed.architecture != manifest.architecture) {
    source.complain("path", fmt::format("the checkpoint at source.path is a {}, the manifest says "
                                        "{}",
                                        parsed.architecture, manifest.architecture));
  }
}

ManifestSource source_of(const TomlTable& document, const fs::path& root,
                         const Manifest& manifest) {
  const TomlTable table = document.table("source");
  ManifestSource source;
  if (table.has("hub") == table.has("path")) {
    table.complain("hub", "either source.hub, with its revision, or source.path is needed");
  }
  if (table.has("hub")) {
    source.hub = table.text("hub");
    const auto slash = source.hub.find('/');
    if (slash == std::string::npos || !is_word(source.hub.substr(0, slash), "-_.") ||
        !is_word(source.hub.substr(slash + 1), "-_.")) {
      table.refuse("hub", "OWNER/NAME");
    }
    source.revision = table.text("revision");
    constexpr std::size_t kDigits = 40;
    const bool hexadecimal =
        source.revision.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (source.revision.size() != kDigits || !hexadecimal) {
      table.refuse("revision", "a commit's 40 hexadecimal digits in lower case");
    }
  } else {
    source.path = inner_path(table, "path");
    check_checkpoint(table, root / source.path, manifest);
  }
  table.finish();
  return source;
}

ManifestAccuracy accuracy_of(const TomlTable& table) {
  ManifestAccuracy accuracy;
  accuracy.top1 = table.number("top1", 0, 1);
  accuracy.images = static_cast<std::uint64_t>(table.integer("images", 1, kMaxImages));
  accuracy.data = filled(table, "data", "the images' name");
  accuracy.from = filled(table, "from", "who measured it, and how");
  table.finish();
  return accuracy;
}

quant::Recipe recipe_of(const TomlTable& table, const fs::path& root) {
  constexpr std::string_view kFile = ".toml";
  const std::string name = table.text("recipe");
  if (name.ends_with(kFile)) {
    const fs::path file = root / inner_path(table, "recipe");
    if (!fs::is_regular_file(file)) table.refuse("recipe", "a recipe's file that exists");
    return quant::parse_recipe(read_text(file, quant::kMaxRecipeBytes), file.string());
  }
  std::vector<std::string_view> names;
  for (const quant::BuiltinRecipe& recipe : quant::builtin_recipes()) {
    if (recipe.name == name) return quant::parse_recipe(recipe.text, name);
    names.push_back(recipe.name);
  }
  table.refuse("recipe", fmt::format("one of {}, or a .toml file", fmt::join(names, ", ")));
}

void check_study(const TomlTable& table, const fs::path& root, const Manifest& manifest,
                 const ManifestVariant& variant) {
  const fs::path record = root / variant.study / "study.json";
  if (!fs::is_regular_file(record)) table.refuse("study", "a study's folder, with study.json");
  const Study study = read_study(record);
  const auto model = std::ranges::find(study.models, manifest.architecture, &Model::architecture);
  if (model == study.models.end()) {
    table.refuse("study", fmt::format("a study of {}", manifest.architecture));
  }
  const auto studied = std::ranges::find(model->variants, variant.name, &Variant::name);
  if (studied == model->variants.end()) {
    table.refuse("study", fmt::format("a study with a variant '{}' of {}", variant.name,
                                      manifest.architecture));
  }
  if (studied->precision != graph::name(variant.precision)) {
    table.refuse("precision", fmt::format("{}, as the study has it", studied->precision));
  }
}

ManifestVariant variant_of(const TomlTable& table, const fs::path& root, const Manifest& manifest) {
  ManifestVariant variant;
  variant.name = table.text("name");
  if (!is_word(variant.name, "-_."))
    table.refuse("name", "letters, digits, '-', '_' and '.' alone");
  variant.precision = precision_of(table);
  const quant::Recipe recipe = recipe_of(table, root);
  variant.recipe = table.text("recipe");
  if (recipe.precision != variant.precision) {
    table.refuse("precision",
                 fmt::format("{}, as its recipe has it", graph::name(recipe.precision)));
  }
  if (table.has("study")) {
    variant.study = inner_path(table, "study");
    check_study(table, root, manifest, variant);
  }
  table.finish();
  return variant;
}

}  // namespace

Manifest read_manifest(const fs::path& path) {
  const fs::path root = fs::absolute(path).lexically_normal().parent_path().parent_path();
  const TomlTable document = TomlTable::parse(read_text(path, kMaxManifestBytes), path.string());
  Manifest manifest;
  manifest.name = document.text("name");
  if (manifest.name != path.stem().string()) {
    document.refuse("name", fmt::format("'{}', as the file is called", path.stem().string()));
  }
  const families::Family& family = family_of(document);
  manifest.family = family.name;
  manifest.architecture = document.text("architecture");
  if (std::ranges::find(family.architectures, manifest.architecture) ==
      family.architectures.end()) {
    document.refuse("architecture",
                    fmt::format("one of {}", fmt::join(family.architectures, ", ")));
  }
  manifest.precision = precision_of(document);
  manifest.batch = static_cast<std::uint64_t>(document.integer("batch", 1, bundle::kMaxBatch));
  manifest.source = source_of(document, root, manifest);
  if (document.has("accuracy")) manifest.accuracy = accuracy_of(document.table("accuracy"));
  std::set<std::string> names;
  for (const TomlTable& table : document.tables("variant")) {
    manifest.variants.push_back(variant_of(table, root, manifest));
    if (!names.insert(manifest.variants.back().name).second) {
      table.refuse("name", "a name that no other variant has");
    }
  }
  document.finish();
  return manifest;
}

}  // namespace assay::study
