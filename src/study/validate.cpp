#include "study/validate.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/toml.h"
#include "families/families.h"
#include "graph/graph.h"
#include "quant/quant.h"
#include "study/manifest.h"
#include "study/markdown.h"
#include "study/readme_numbers.h"
#include "study/schema.h"
#include "study/spec.h"

namespace assay::study {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxTextBytes = 64 << 20;

enum class Kind { none, page, record, manifest, specification, recipe };

Kind kind_of_toml(const fs::path& path) {
  if (path.parent_path().filename() == "manifests") return Kind::manifest;
  const TomlTable table = TomlTable::parse(read_text(path, kMaxTextBytes), path.string());
  if (table.has("source")) return Kind::manifest;
  return table.has("model") ? Kind::specification : Kind::recipe;
}

/// By the name alone: what a file's kind may be. A .toml is a recipe until it is read.
Kind kind_of_name(const fs::path& path) {
  if (path.extension() == ".md") return Kind::page;
  if (path.filename() == "study.json") return Kind::record;
  return path.extension() == ".toml" ? Kind::recipe : Kind::none;
}

bool is_skipped(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with('.') || name == "build" || name == "shared" || name == "node_modules";
}

/// The files of a folder that can be checked, in order of name.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto entry = fs::recursive_directory_iterator(folder, options); entry != fs::end(entry);
       ++entry) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      if (is_skipped(entry->path())) entry.disable_recursion_pending();
    } else if (entry->is_regular_file(ignored) && kind_of_name(entry->path()) != Kind::none) {
      files.push_back(entry->path().lexically_normal());
    }
  }
  std::ranges::sort(files);
  return files;
}

/// Whether the file is in the folder `recipes` of the folder that is checked, or in that itself.
bool is_shipped(const fs::path& file, const fs::path& root) {
  if (root.empty()) return false;
  const fs::path folder = (root.filename() == "recipes" ? root : root / "recipes");
  return file.parent_path() == folder.lexically_normal();
}

class Validator {
 public:
  void check_folder(const fs::path& folder) {
    for (const fs::path& file : files_in(folder)) check_file(file, folder);
  }

  void check_file(const fs::path& file, const fs::path& root) {
    try {
      check(file, root);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::out_of_memory || error.kind() == ErrorKind::internal) throw;
      complain(file, 0, error.what());
    }
  }

  Validation finish() { return std::move(found_); }

 private:
  /// Names the file, unless the message does already.
  void complain(const fs::path& file, std::size_t line, std::string_view what) {
    std::string problem(what);
    if (!problem.starts_with(file.string())) {
      problem = line > 0 ? fmt::format("{}:{}: {}", file.string(), line, what)
                         : fmt::format("{}: {}", file.string(), what);
    }
    found_.problems.push_back(std::move(problem));
  }

  void check(const fs::path& file, const fs::path& root) {
    Kind kind = kind_of_name(file);
    if (kind == Kind::recipe) kind = kind_of_toml(file);
    switch (kind) {
      case Kind::none:
        break;
      case Kind::page:
        ++found_.pages;
        for (const std::string& problem :
             check_markdown(read_text(file, kMaxTextBytes), file, root)) {
          found_.problems.push_back(problem);
        }
        break;
      case Kind::record:
        ++found_.records;
        check_record(file);
        break;
      case Kind::manifest:
        ++found_.manifests;
        check_manifest(file);
        break;
      case Kind::specification:
        ++found_.specifications;
        check_specification(file);
        break;
      case Kind::recipe:
        ++found_.recipes;
        check_recipe(file, root);
        break;
    }
  }

  void check_manifest(const fs::path& file) {
    const Manifest manifest = read_manifest(file);
    const std::string source =
        manifest.source.hub.empty() ? manifest.source.path : manifest.source.hub;
    if (!sources_.insert(source).second) {
      complain(file, 0, fmt::format("another manifest is of {}, too", source));
    }
  }

  /// Those that the program is built with are found by their files' names.
  void check_recipe(const fs::path& file, const fs::path& root) {
    const quant::Recipe recipe =
        quant::parse_recipe(read_text(file, quant::kMaxRecipeBytes), file.string());
    const std::string stem = file.stem().string();
    if (is_shipped(file, root) && recipe.name != stem) {
      complain(
          file, 0,
          fmt::format("name is '{}', expected '{}', as the file is called", recipe.name, stem));
    }
  }

  void check_specification(const fs::path& file) {
    const Spec spec = read_spec(file);
    for (const ModelSpec& model : spec.models) {
      require_file(file, spec.resolve(model.checkpoint) / "config.json",
                   fmt::format("the checkpoint of model '{}'", model.name));
      if (model.reference.empty()) continue;
      require_file(file, spec.resolve(model.reference),
                   fmt::format("the reference of model '{}'", model.name));
    }
    for (const VariantSpec& variant : spec.variants) {
      check_spec_recipe(file, spec, variant.recipe);
      if (variant.search) check_spec_recipe(file, spec, variant.search->from);
    }
  }

  void check_spec_recipe(const fs::path& file, const Spec& spec, const std::string& recipe) {
    if (recipe == kFp32 || recipe == kAuto) return;
    if (recipe.ends_with(".toml")) {
      require_file(file, spec.resolve(recipe), fmt::format("the recipe {}", recipe));
      return;
    }
    const auto builtin = quant::builtin_recipes();
    if (std::ranges::find(builtin, recipe, &quant::BuiltinRecipe::name) == builtin.end()) {
      complain(file, 0, fmt::format("recipe is '{}', which is no built-in one", recipe));
    }
  }

  void require_file(const fs::path& file, const fs::path& wanted, std::string_view what) {
    if (!fs::is_regular_file(wanted)) {
      complain(file, 0, fmt::format("{} is not there: {}", what, wanted.string()));
    }
  }

  void check_record(const fs::path& file) {
    const Study study = read_study(file);
    if (sha256_hex(std::as_bytes(std::span(study.spec.text))) != study.spec.sha256) {
      complain(file, 0, "spec.sha256 is not the digest of spec.text");
    }
    const fs::path folder = file.parent_path();
    for (const char* page : {"README.md", "report.html"}) {
      require_file(file, folder / page, fmt::format("the study's {}", page));
    }
    for (const Model& model : study.models) check_model(file, model);
    check_numbers(file, folder / "README.md");
  }

  void check_model(const fs::path& file, const Model& model) {
    const bool known = std::ranges::any_of(families::all(), [&](const families::Family& family) {
      return std::ranges::find(family.architectures, model.architecture) !=
             family.architectures.end();
    });
    if (!known) {
      complain(file, 0,
               fmt::format("model '{}': this build knows no architecture {}", model.name,
                           model.architecture));
    }
    if (model.calibration) {
      require_file(file, file.parent_path() / model.calibration->file,
                   fmt::format("the calibration of model '{}'", model.name));
    }
    for (const Variant& variant : model.variants) check_variant(file, model, variant);
  }

  void check_variant(const fs::path& file, const Model& model, const Variant& variant) {
    const std::string where = fmt::format("model '{}', variant '{}'", model.name, variant.name);
    if (!graph::precision_from_name(variant.precision)) {
      complain(file, 0, fmt::format("{}: there is no precision {}", where, variant.precision));
    }
    if (!variant.recipe_file.empty()) {
      require_file(file, file.parent_path() / variant.recipe_file,
                   fmt::format("{}: the recipe", where));
    }
    for (const Layer& layer : variant.layers) {
      if (!graph::precision_from_name(layer.precision) || !graph::role_from_name(layer.role)) {
        complain(file, 0,
                 fmt::format("{}: layer '{}' is {} at {}, which this build does not know", where,
                             layer.layer, layer.role, layer.precision));
      }
    }
  }

  /// Each number that the page states is one that the record holds.
  void check_numbers(const fs::path& file, const fs::path& page) {
    if (!fs::is_regular_file(page)) return;
    const Json record = parse_json(read_text(file, kMaxTextBytes), file.string());
    for (const UnexplainedNumber& number :
         unexplained_numbers(read_text(page, kMaxTextBytes), record)) {
      complain(page, number.line, fmt::format("{} is nowhere in study.json", number.number));
    }
  }

  Validation found_;
  std::set<std::string> sources_;
};

}  // namespace

Validation validate(std::span<const fs::path> paths) {
  Validator validator;
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) {
      validator.check_folder(path);
    } else if (!fs::is_regular_file(path)) {
      fail(ErrorKind::not_found, "{}: there is no such file or folder", path.string());
    } else if (kind_of_name(path) == Kind::none) {
      fail(ErrorKind::bad_input, "{}: neither *.toml, *.md nor study.json", path.string());
    } else {
      validator.check_file(path.lexically_normal(), {});
    }
  }
  Validation found = validator.finish();
  if (found.files() == 0) {
    fail(ErrorKind::bad_input, "{}: holds no manifest, recipe, study or page to check",
         paths.empty() ? "." : paths.front().string());
  }
  return found;
}

}  // namespace assay::study
