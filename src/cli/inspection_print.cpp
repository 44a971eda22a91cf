#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "cli/console.h"
#include "cli/inspection.h"
#include "cli/table.h"
#include "quant/quant.h"

namespace assay::cli {
namespace {

std::string labels_text(std::span<const std::string> labels) {
  constexpr std::size_t kShown = 3;
  const bool all = labels.size() <= kShown;
  return fmt::format("{}: {}{}", labels.size(),
                     fmt::join(labels.first(all ? labels.size() : kShown), "; "),
                     all ? "" : "; ...");
}

std::string transform_text(const image::Transform& transform) {
  return fmt::format("{}, {} crop {}, mean [{}], std [{}]", image::name(transform.interpolation),
                     image::name(transform.crop_mode), transform.crop_pct,
                     fmt::join(transform.mean, ", "), fmt::join(transform.std, ", "));
}

void add_file(const InspectOptions& options, const bundle::Description& description, Table& table) {
  if (description.format_version == 0) {
    table.row({"checkpoint", options.path});
    return;
  }
  table.row({"bundle", fmt::format("{}: format {}, {}", options.path, description.format_version,
                                   bytes_text(static_cast<double>(description.file_bytes)))});
}

/// Products and attentions by precision, the narrowest first: "65 at int8, 9 at bf16, 7 at fp32".
std::string precisions_text(const graph::Graph& graph) {
  std::string text;
  for (auto i = graph::kPrecisions.rbegin(); i != graph::kPrecisions.rend(); ++i) {
    const auto layers = std::ranges::count_if(graph.nodes, [&](const graph::Node& node) {
      const bool layer = std::holds_alternative<graph::Linear>(node.op) ||
                         std::holds_alternative<graph::Conv2d>(node.op) ||
                         std::holds_alternative<graph::Attention>(node.op);
      return layer && node.precision == *i;
    });
    if (layers == 0) continue;
    text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", layers, graph::name(*i));
  }
  return text;
}

void add_recipe(const bundle::Bundle& bundle, Table& table) {
  if (!bundle.provenance.recipe) return;
  const quant::Recipe& recipe = *bundle.provenance.recipe;
  table.row({"recipe", recipe.description.empty()
                           ? recipe.name
                           : fmt::format("{}: {}", recipe.name, recipe.description)});
  table.row({"layers", precisions_text(*bundle.graph)});
}

void add_provenance(const bundle::Provenance& provenance, Table& table) {
  for (const checkpoint::SourceFile& file : provenance.files) {
    table.row({"made from", fmt::format("{}, {}, SHA-256 {}", file.name,
                                        bytes_text(static_cast<double>(file.size)), file.sha256)});
  }
  if (!provenance.revision.empty()) table.row({"revision", provenance.revision});
  table.row({"made by", provenance.tool_version});
  if (provenance.calibration) {
    const quant::CalibrationSource& source = *provenance.calibration;
    const std::string limit =
        source.limit == 0 ? "no limit" : fmt::format("limit {}", source.limit);
    table.row({"calibrated", fmt::format("{} over {} images (offset {}, stride {}, {})",
                                         fmt::join(source.observers, ", "), source.images,
                                         source.offset, source.stride, limit)});
  }
}

std::vector<std::string> step_cells(const backend::StepInfo& step, const std::string& precision) {
  return {step.name,
          step.operation,
          precision,
          step.tactic,
          graph::to_string(step.output),
          fmt::format("{:.3f}", static_cast<double>(step.flops) / 1e6),
          fmt::format("{}", step.weight_bytes)};
}

std::string level_text(const bundle::Bundle& bundle, const TargetOptions& target) {
  if (bundle.optimization_level != 3) return fmt::format("{}", bundle.optimization_level);
  const bundle::Tuning* const tuning = bundle::tuning_here(bundle, target.threads);
  if (tuning == nullptr) {
    return "3, but nothing is tuned for this machine and number of threads: it runs as level 1";
  }
  return fmt::format("3, {} steps tuned for {}, {}, {} thread{}", tuning->tactics.size(),
                     tuning->cpu, tuning->isa, tuning->threads, tuning->threads == 1 ? "" : "s");
}

}  // namespace

void print_summary(const InspectOptions& options, const Inspection& inspection, Console& console) {
  const bundle::Description& description = inspection.description;
  const bundle::Bundle& bundle = description.bundle;
  Table table;
  add_file(options, description, table);
  table.row({"architecture", bundle.provenance.architecture});
  table.row({"family", bundle.provenance.family});
  table.row({"precision", bundle.precision});
  add_recipe(bundle, table);
  table.row({"optimization level", level_text(bundle, options.target)});
  table.row({"largest batch", fmt::format("{}", bundle.max_batch)});
  table.row({"input", fmt::format("{}x{} RGB", bundle.transform.input_height,
                                  bundle.transform.input_width)});
  table.row({"transform", transform_text(bundle.transform)});
  table.row({"labels", labels_text(bundle.labels)});
  table.row({"parameters", fmt::format("{}", description.parameters)});
  table.row({"FLOPs", fmt::format("{:.1f} M an image",
                                  static_cast<double>(total_flops(*inspection.plan)) / 1e6)});
  table.row({"weights", bytes_text(static_cast<double>(description.weight_bytes))});
  if (description.format_version != 0) {
    table.row({"sections", fmt::format("{}, header {}", description.sections.size(),
                                       bytes_text(static_cast<double>(description.header_bytes)))});
  }
  table.row({"plan", fmt::format("{}; {} steps, {} of activations a session",
                                 inspection.plan->description(), inspection.plan->steps().size(),
                                 bytes_text(static_cast<double>(inspection.plan->arena_bytes())))});
  add_provenance(bundle.provenance, table);
  table.print(console);
}

void print_layers(const InspectOptions& options, const Inspection& inspection, Console& console) {
  std::vector<std::string> header{"step",   "operation", "precision",    "tactic",
                                  "output", ">MFLOP",    ">weight bytes"};
  if (options.profile) header.insert(header.end(), {">ms", ">GFLOP/s", ">of peak", ">of time"});
  Table table(header);
  const std::vector<double>& seconds = inspection.step_seconds;
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const auto steps = inspection.plan->steps();
  const std::vector<std::string> precisions = step_precisions(inspection);
  std::vector<std::optional<double>> shares;
  if (options.profile) shares = shares_of_peak(inspection);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<std::string> cells = step_cells(steps[i], precisions[i]);
    if (options.profile) {
      const auto flops = static_cast<double>(steps[i].flops);
      cells.push_back(fmt::format("{:.4f}", 1e3 * seconds[i]));
      cells.push_back(seconds[i] > 0 ? fmt::format("{:.1f}", flops / seconds[i] / 1e9) : "-");
      cells.push_back(shares[i] ? fmt::format("{:.1f}%", 100 * *shares[i]) : "-");
      cells.push_back(total > 0 ? fmt::format("{:.1f}%", 100 * seconds[i] / total) : "-");
    }
    table.row(std::move(cells));
  }
  console.line("");
  table.print(console);
  if (!options.profile) return;
  console.line(
      fmt::format("total {:.3f} ms: the sum of each step's median over {} runs of one "
                  "random image",
                  1e3 * total, inspection.profile_runs));
  for (const auto& [precision, peak] : inspection.peaks) {
    console.line(
        fmt::format("peak at {}: {:.0f} GFLOP/s, from registers, all threads", precision, peak));
  }
}

}  // namespace assay::cli
