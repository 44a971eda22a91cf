#include "pipeline/calibrate.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "bundle/bundle.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/verb.h"
#include "pipeline/dataset.h"
#include "quant/quant.h"

namespace assay::cli {
namespace {

struct Options {
  std::string bundle;
  std::string data;
  std::string output;
  pipeline::CalibrateOptions calibrate;
};

pipeline::CalibrateReport calibrate(const Options& options, const bundle::Bundle& bundle) {
  const auto dataset =
      pipeline::open_dataset(options.data, bundle.labels,
                             {.selection = options.calibrate.selection, .require_labels = false});
  Progress bar("calibrate", dataset->size().value_or(0));
  pipeline::CalibrateOptions calibrate = options.calibrate;
  calibrate.progress = [&bar, before = std::uint64_t{0}](std::uint64_t done, auto) mutable {
    bar.advance(done - before);
    before = done;
  };
  return pipeline::calibrate(bundle, *dataset, calibrate);
}

Json to_json(const Options& options, const pipeline::CalibrateReport& report) {
  const quant::Calibration& calibration = report.calibration;
  Json failed = Json::array();
  for (const pipeline::FailedImage& image : report.failed) {
    failed.push_back({{"image", image.name}, {"message", image.message}});
  }
  return {{"calibration", options.output},
          {"bundle", options.bundle},
          {"data", options.data},
          {"architecture", calibration.architecture},
          {"observers", calibration.source.observers},
          {"images", calibration.source.images},
          {"operands", calibration.operands.size()},
          {"failed", std::move(failed)}};
}

/// DATA may be many files, any of which the output could name: what is there and is no calibration
/// is not replaced.
void check_replaceable(const std::string& output) {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(output, absent)) return;
  try {
    quant::read_calibration(output);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported) return;  // one of another version
    fail(ErrorKind::bad_input, "-o {}: is there and is no calibration; name another file to write",
         output);
  }
}

ExitCode run_calibrate(const Options& options, Console& console) {
  check_output(options.output, std::vector<std::filesystem::path>{options.bundle, options.data});
  check_replaceable(options.output);
  const pipeline::CalibrateReport report = calibrate(options, bundle::read(options.bundle));
  quant::write_calibration(report.calibration, options.output);
  for (const pipeline::FailedImage& image : report.failed) console.complain(image.message);
  const quant::CalibrationSource& source = report.calibration.source;
  if (console.json()) {
    console.json_answer(to_json(options, report));
  } else {
    console.line(fmt::format("{}: {}, {} operands over {} images by {}", options.output,
                             report.calibration.architecture, report.calibration.operands.size(),
                             source.images, fmt::join(source.observers, ", ")));
  }
  return report.failed.empty() ? kDone : kBadInput;
}

std::vector<std::string> observer_names() {
  const auto names = quant::observers();
  return {names.begin(), names.end()};
}

}  // namespace

void add_calibrate(Parser& parser) {
  constexpr std::int64_t kMany = std::int64_t{1} << 62;
  const auto options = std::make_shared<Options>();
  pipeline::CalibrateOptions& calibrate = options->calibrate;
  Verb verb(parser, "calibrate", "Find the ranges that int8 and fp8 builds need");
  verb.word(options->bundle, "BUNDLE", "What 'assay build' wrote, at precision fp32");
  verb.option(options->data, "--data", "DATA",
              "Images as 'assay eval' takes them; labels are not needed", Need::required);
  verb.option(options->output, "-o,--output", "FILE",
              "The calibration to write; replaced if it is there", Need::required);
  verb.choices(calibrate.observers, "--observer", "NAME", observer_names(),
               fmt::format("What makes a range of the numbers that a layer reads; may be repeated: "
                           "{} (default: all)",
                           fmt::join(quant::observers(), ", ")));
  verb.number(calibrate.selection.stride, "--stride", {1, kMany}, "Take every N-th image");
  verb.number(calibrate.selection.offset, "--offset", {0, kMany},
              "Begin at image N, counting from 0");
  verb.number(calibrate.selection.limit, "--limit", {1, kMany},
              "Take N images at most (default: all)");
  verb.number(calibrate.threads, "--threads", {1, kMaxThreads},
              "Images that run at once (default: one a core this process may use)");
  verb.flag(calibrate.exif_rotate, "--exif-rotate",
            "Turn images as their EXIF orientation says; timm does not");
  verb.json_flag();
  verb.footer(
      "Memory does not grow with the number of images. An image that can't be decoded is reported\n"
      "and left out; the exit code is then 3.\n"
      "Example:\n"
      "  assay calibrate xxs.assay --data examples/fashion-mnist/t10k-images-idx3-ubyte.gz \\\n"
      "    --stride 20 -o xxs.json\n"
      "  assay build examples/mobilevit_xxs.fashion_mnist --precision int8 \\\n"
      "    --calibration xxs.json -o xxs-int8.assay");
  verb.does([options](Console& console) { return run_calibrate(*options, console); });
}

}  // namespace assay::cli
