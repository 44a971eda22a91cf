#include "pipeline/preprocess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/input_bytes.h"
#include "cli/output_file.h"
#include "cli/source.h"
#include "cli/verb.h"
#include "image/write.h"

namespace assay::cli {
namespace {

struct Options {
  std::string like;
  std::string image;
  std::string stage = "tensor";
  std::string output;
  bool exif_rotate = false;
};

/// What is written, as NumPy names and shapes it.
struct Description {
  std::string type;
  std::vector<std::int64_t> shape;
};

Description description_of(const pipeline::Preprocessed& result) {
  const std::int64_t height = result.image.height;
  const std::int64_t width = result.image.width;
  if (result.stage == pipeline::Stage::tensor) return {"float32", {3, height, width}};
  return {"uint8", {height, width, 3}};
}

void write(const pipeline::Preprocessed& result, const std::filesystem::path& file,
           const std::string& extension) {
  if (extension == ".png") {
    image::write_png(file, result.image);
  } else if (result.stage == pipeline::Stage::tensor) {
    image::write_npy(file, result.tensor, 3, result.image.height, result.image.width);
  } else {
    image::write_npy(file, result.image);
  }
}

/// ".npy" or ".png"; anything else can't be honoured.
std::string checked_extension(const Options& options) {
  const std::string extension = std::filesystem::path(options.output).extension().string();
  if (extension != ".npy" && extension != ".png") {
    throw UsageError(fmt::format("-o {}: the name must end in .npy or .png", options.output));
  }
  if (extension == ".png" && options.stage == "tensor") {
    throw UsageError("a PNG holds 8-bit pixels: write '--stage tensor' to a .npy file");
  }
  return extension;
}

ExitCode run_preprocess(const Options& options, Console& console) {
  const std::string extension = checked_extension(options);
  const std::filesystem::path like(options.like);
  check_output(options.output, std::array{std::filesystem::path(options.image), like,
                                          like / "config.json", like / "model.safetensors"});
  const image::Transform transform = transform_of(options.like);
  const pipeline::Preprocessed result = pipeline::preprocess(
      read_image_bytes(options.image), options.image == "-" ? "standard input" : options.image,
      transform, {.apply_exif_rotation = options.exif_rotate},
      pipeline::stage_from_name(options.stage));
  write(result, options.output, extension);
  const Description array = description_of(result);
  if (console.json()) {
    console.json_answer({{"file", options.output},
                         {"stage", options.stage},
                         {"type", array.type},
                         {"shape", array.shape}});
  } else {
    console.line(
        fmt::format("{}: {} [{}]", options.output, array.type, fmt::join(array.shape, ", ")));
  }
  return kDone;
}

}  // namespace

void add_preprocess(Parser& parser) {
  const auto options = std::make_shared<Options>();
  Verb verb(parser, "preprocess", "Write what the network will see of an image");
  verb.word(options->image, "IMAGE", "A JPEG, PNG or WebP file, or - for standard input");
  verb.option(options->like, "--like", "BUNDLE|CHECKPOINT",
              "The bundle or checkpoint whose transform to apply", Need::required);
  verb.choice(options->stage, "--stage", {"decoded", "resized", "tensor"},
              "decoded: uint8 [H, W, 3], the file's own size. resized: uint8 [H, W, 3] after "
              "resize and crop. tensor: float32 [3, H, W], normalized");
  verb.option(options->output, "-o,--output", "FILE",
              "Where to: X.npy, or X.png for the two stages of 8-bit pixels", Need::required);
  verb.flag(options->exif_rotate, "--exif-rotate",
            "Turn the image as its EXIF orientation says; timm does not");
  verb.json_flag();
  verb.footer(
      "Example:\n"
      "  assay preprocess --like xxs.assay photo.jpg --stage resized -o seen.png");
  verb.check([options] { checked_extension(*options); });
  verb.does([options](Console& console) { return run_preprocess(*options, console); });
}

}  // namespace assay::cli
