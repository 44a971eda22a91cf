#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "assay/assay.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/statistics.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/target_options.h"
#include "cli/verb.h"
#include "pipeline/dataset.h"
#include "pipeline/evaluate.h"

namespace assay::cli {
namespace {

struct Options {
  std::string bundle;
  std::string data;
  std::string reference;
  pipeline::Selection selection;
  bool exif_rotate = false;
  TargetOptions target;
};

pipeline::EvalReport evaluate(const Options& options, const Classifier& classifier) {
  const auto dataset =
      pipeline::open_dataset(options.data, classifier.labels(), {.selection = options.selection});
  Progress bar("eval", dataset->size().value_or(0));
  pipeline::EvalOptions eval;
  if (!options.reference.empty()) eval.reference = options.reference;
  eval.batch = options.target.batch;
  eval.threads = options.target.threads;
  eval.exif_rotate = options.exif_rotate;
  eval.progress = [&bar, before = std::uint64_t{0}](std::uint64_t done, auto) mutable {
    bar.advance(done - before);
    before = done;
  };
  pipeline::EvalReport report = pipeline::evaluate(classifier, *dataset, eval);
  if (report.images == 0 && report.failed.empty()) {
    fail(ErrorKind::bad_input, "{}: no image is selected by offset {}, stride {} and limit {}",
         options.data, options.selection.offset, options.selection.stride, options.selection.limit);
  }
  return report;
}

Json interval_json(const Interval& interval) { return {interval.low, interval.high}; }

Json to_json(const Options& options, const Classifier& classifier,
             const pipeline::EvalReport& report) {
  const ModelInfo& info = classifier.info();
  Json json{{"bundle", options.bundle},
            {"data", options.data},
            {"architecture", info.architecture},
            {"precision", info.precision},
            {"plan", info.plan},
            {"batch", options.target.batch},
            {"images", report.images},
            {"top1", report.top1()},
            {"top1_interval", interval_json(wilson_interval(report.top1_correct, report.images))},
            {"top5", report.top5()},
            {"top5_interval", interval_json(wilson_interval(report.top5_correct, report.images))}};
  if (report.reference) {
    const pipeline::ReferenceReport& reference = *report.reference;
    json["reference"] = options.reference;
    json["agreement"] = reference.agreement;
    json["agreement_interval"] = interval_json(wilson_interval(reference.agreeing, report.images));
    json["max_abs_diff"] = reference.max_abs_diff;
    json["mean_abs_diff"] = reference.mean_abs_diff;
    json["decided_disagreements"] = reference.decided_disagreements;
  }
  json["nonfinite"] = report.nonfinite;
  json["failed"] = Json::array();
  for (const pipeline::FailedImage& image : report.failed) {
    json["failed"].push_back({{"image", image.name}, {"message", image.message}});
  }
  return json;
}

std::string share_text(double share, std::uint64_t count, std::uint64_t images) {
  const Interval interval = wilson_interval(count, images);
  return fmt::format("{:.4f}  [{:.4f}, {:.4f}]", share, interval.low, interval.high);
}

void print(const pipeline::EvalReport& report, Console& console) {
  Table table;
  table.row({"images", fmt::format("{}", report.images)});
  table.row({"top1", share_text(report.top1(), report.top1_correct, report.images)});
  table.row({"top5", share_text(report.top5(), report.top5_correct, report.images)});
  if (report.reference) {
    const pipeline::ReferenceReport& reference = *report.reference;
    table.row({"agreement", share_text(reference.agreement, reference.agreeing, report.images)});
    table.row({"max_abs_diff", fmt::format("{:.3g}", reference.max_abs_diff)});
    table.row({"mean_abs_diff", fmt::format("{:.3g}", reference.mean_abs_diff)});
    table.row({"decided_disagreements", fmt::format("{}", reference.decided_disagreements)});
  }
  table.row({"nonfinite", fmt::format("{}", report.nonfinite)});
  if (!report.failed.empty()) table.row({"failed", fmt::format("{}", report.failed.size())});
  table.print(console);
}

ExitCode run_eval(const Options& options, Console& console) {
  const Classifier classifier = load(options.bundle, load_options(options.target));
  const pipeline::EvalReport report = evaluate(options, classifier);
  for (const pipeline::FailedImage& image : report.failed) console.complain(image.message);
  if (console.json()) {
    console.json_answer(to_json(options, classifier, report));
  } else {
    print(report, console);
  }
  return report.failed.empty() ? kDone : kBadInput;
}

}  // namespace

void add_eval(Parser& parser) {
  constexpr std::int64_t kMany = std::int64_t{1} << 62;
  const auto options = std::make_shared<Options>();
  Verb verb(parser, "eval", "Measure quality over a labelled dataset");
  verb.word(options->bundle, "BUNDLE", "What 'assay build' wrote");
  verb.option(options->data, "--data", "DATA",
              "Folder of class folders, WebDataset shards, IDX image file, or CSV/JSONL list",
              Need::required);
  verb.option(options->reference, "--reference", "FILE",
              "Logits to compare with: safetensors with 'logits' [images, classes]");
  verb.number(options->selection.stride, "--stride", {1, kMany}, "Take every N-th image");
  verb.number(options->selection.offset, "--offset", {0, kMany},
              "Begin at image N, counting from 0");
  verb.number(options->selection.limit, "--limit", {1, kMany},
              "Take N images at most (default: all)");
  verb.flag(options->exif_rotate, "--exif-rotate",
            "Turn images as their EXIF orientation says; timm does not");
  verb.json_flag();
  add_target_options(verb, options->target);
  verb.footer(
      "Prints top1 and top5 with their 95% Wilson intervals and, with a reference, how far the\n"
      "logits are from it. An image that can't be decoded is reported; the exit code is then 3.\n"
      "Example:\n"
      "  assay eval xxs.assay --data examples/fashion-mnist/t10k-images-idx3-ubyte.gz \\\n"
      "    --reference examples/mobilevit_xxs.fashion_mnist/reference_logits.safetensors");
  verb.does([options](Console& console) { return run_eval(*options, console); });
}

}  // namespace assay::cli
