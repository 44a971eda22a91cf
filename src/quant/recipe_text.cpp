#include <iterator>

#include "base/error.h"
#include "base/toml.h"
#include "quant/recipe.h"

namespace assay::quant {
namespace {

using graph::Precision;

/// Lines of TOML.
class Writer {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void list(std::string_view key, const std::vector<std::string>& entries) {
    std::vector<std::string> quoted;
    quoted.reserve(entries.size());
    for (const std::string& entry : entries) quoted.push_back(toml_quote(entry));
    line("{} = [{}]", key, fmt::join(quoted, ", "));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_rule(const Rule& rule, Writer& out) {
  const bool activations = rule.precision == Precision::int8 || rule.precision == Precision::fp8;
  const bool scales = activations || rule.precision == Precision::nvfp4;
  out.line("\n[[rule]]");
  if (!rule.roles.empty()) {
    std::vector<std::string> names;
    for (const graph::Role role : rule.roles) names.emplace_back(graph::name(role));
    out.list("roles", names);
  }
  if (rule.layers != Rule{}.layers) out.list("layers", rule.layers);
  if (!rule.except.empty()) out.list("except", rule.except);
  out.line("precision = \"{}\"", graph::name(rule.precision));
  if (scales) {
    out.line("weights = {{ granularity = \"{}\", observer = \"{}\" }}",
             name(rule.weights.granularity), name(rule.weights.observer));
  }
  if (activations) out.line("activations = {{ observer = {} }}", toml_quote(rule.activations));
  if (rule.smooth) out.line("smooth = {}", *rule.smooth);
  if (rule.bias_correction) out.line("bias_correction = true");
  if (rule.optional) out.line("optional = true");
}

}  // namespace

std::string to_toml(const Recipe& recipe) {
  Writer out;
  out.line("name = {}", toml_quote(recipe.name));
  if (!recipe.description.empty()) out.line("description = {}", toml_quote(recipe.description));
  out.line("precision = \"{}\"", graph::name(recipe.precision));
  out.line("base = \"{}\"", graph::name(recipe.base));
  for (const Rule& rule : recipe.rules) write_rule(rule, out);
  if (recipe.outliers) {
    out.line("\n[outliers]");
    out.line("observer = {}", toml_quote(recipe.outliers->observer));
    out.line("ratio = {}", recipe.outliers->ratio);
  }
  return out.take();
}

}  // namespace assay::quant
