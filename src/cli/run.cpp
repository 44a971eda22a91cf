#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "assay/assay.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/image_paths.h"
#include "cli/input_bytes.h"
#include "cli/target_options.h"
#include "cli/verb.h"
#include "pipeline/classifier.h"
#include "pipeline/image_batch.h"

namespace assay::cli {
namespace {

struct Options {
  std::string bundle;
  std::vector<std::string> images;
  int top_k = 5;
  std::string output = "labels";
  bool exif_rotate = false;
  TargetOptions target;
};

/// One verb's run: images in, lines out.
class Runner {
 public:
  Runner(const Options& options, Console& console)
      : options_(options),
        console_(console),
        classifier_(load(options.bundle, load_options(options.target, options.exif_rotate))),
        batch_(classifier_, options.target.batch) {}

  ExitCode run() {
    const std::vector<ImagePath> images = expand_images(options_.images);
    // On a terminal the answers themselves show the progress.
    if (::isatty(STDOUT_FILENO) == 0) progress_.emplace("run", images.size());
    try {
      for (const ImagePath& image : images) {
        add(image);
        if (batch_.full()) answer_batch();
        if (progress_) progress_->advance();
      }
      answer_batch();
    } catch (const OutputClosed&) {
      // Whoever wanted no more answers is still told of the bad images so far.
    }
    return exit_;
  }

 private:
  void add(const ImagePath& image) {
    try {
      if (!image.problem.empty()) fail(ErrorKind::not_found, "{}", image.problem);
      batch_.add(read_image_bytes(image.path), image.path == "-" ? "standard input" : image.path);
      names_.push_back(image.path);
    } catch (const Error& error) {
      report(image.path, error);
    }
  }

  /// A bad image does not stop the others; the worst is told at the end by the exit code.
  void report(const std::string& name, const Error& error) {
    if (progress_) progress_->clear();
    console_.complain(error.what());
    if (console_.json()) {
      Json line{{"image", name}};
      line.update(error_json(kind_name(error.kind()), error.what()));
      console_.json_line(line);
    }
    if (exit_ != kFailed) exit_ = exit_code(error.kind()) == kFailed ? kFailed : kBadInput;
  }

  void answer_batch() {
    if (batch_.size() == 0) return;
    batch_.run();
    for (int i = 0; i < batch_.size(); ++i) {
      try {
        answer(names_[static_cast<std::size_t>(i)], i);
      } catch (const Error& error) {
        report(names_[static_cast<std::size_t>(i)], error);
      }
    }
    batch_.clear();
    names_.clear();
  }

  void answer(const std::string& name, int i) {
    if (options_.output == "logits") return answer_numbers(name, batch_.logits(i));
    if (options_.output == "features") return answer_numbers(name, batch_.features(i));
    answer_labels(name, batch_.logits(i));
  }

  void answer_numbers(const std::string& name, std::span<const float> numbers) {
    if (console_.json()) {
      Json values = Json::array();
      for (const float number : numbers) values.push_back(json_number(number));
      console_.json_line({{"image", name}, {options_.output, std::move(values)}});
    } else {
      console_.line(fmt::format("{}\t{}", name, fmt::join(numbers, " ")));
    }
  }

  void answer_labels(const std::string& name, std::span<const float> logits) {
    if (!std::ranges::all_of(logits, [](float x) { return std::isfinite(x); })) {
      fail(ErrorKind::bad_input,
           "{}: this bundle's network gave a logit that is not finite; '--output "
           "logits' shows all of them",
           name);
    }
    std::vector<float> probabilities(logits.size());
    pipeline::softmax(logits, probabilities);
    std::string text = name;
    Json top = Json::array();
    for (const int index : pipeline::top_k(logits, options_.top_k)) {
      const std::string& label = classifier_.labels()[static_cast<std::size_t>(index)];
      const float probability = probabilities[static_cast<std::size_t>(index)];
      text += fmt::format("\t{} {:.2f}%", label, 100 * probability);
      top.push_back(
          {{"index", index}, {"label", label}, {"probability", json_number(probability)}});
    }
    console_.json() ? console_.json_line({{"image", name}, {"top", top}}) : console_.line(text);
  }

  const Options& options_;
  Console& console_;
  const Classifier classifier_;
  pipeline::ImageBatch batch_;
  std::vector<std::string> names_;  ///< of the images in batch_
  std::optional<Progress> progress_;
  ExitCode exit_ = kDone;
};

}  // namespace

void add_run(Parser& parser) {
  constexpr int kMaxTop = 100'000;
  const auto options = std::make_shared<Options>();
  Verb verb(parser, "run", "Classify images");
  verb.word(options->bundle, "BUNDLE", "What 'assay build' wrote");
  verb.words(options->images, "IMAGE",
             "JPEG, PNG or WebP files, folders of them (not entering folders within), quoted "
             "globs, or - for one image on standard input");
  verb.number(options->top_k, "--top-k", {1, kMaxTop}, "How many labels an image, best first");
  verb.choice(options->output, "--output", {"labels", "logits", "features"}, "What to print");
  verb.flag(options->exif_rotate, "--exif-rotate",
            "Turn images as their EXIF orientation says; timm does not");
  verb.json_flag("Answer in JSON, one line an image");
  add_target_options(verb, options->target);
  verb.footer(
      "One line an image, as it is ready: its path, then the labels with their probabilities,\n"
      "separated by tabs. A bad image is reported and the rest go on; the exit code is then 3.\n"
      "Example:\n"
      "  assay run xxs.assay photo.jpg --top-k 3\n"
      "  assay run xxs.assay 'photos/*.png' --json --batch 8");
  verb.check([options, top_k_given = verb.given("--top-k")] {
    if (options->output != "labels" && top_k_given()) {
      throw UsageError("--top-k goes with '--output labels' only");
    }
  });
  verb.does([options](Console& console) { return Runner(*options, console).run(); });
}

}  // namespace assay::cli
