/// config.json in the dialects that timm and its users have written:
///   nested        {"architecture", "num_classes", "pretrained_cfg": {...}, "model_args": {...}}
///   flat (older)  the keys of pretrained_cfg at the top level, beside "architecture"
///   TimmWrapper   transformers' {"model_type": "timm_wrapper", "architecture", "pretrained_cfg",
///                 "label_names" or "id2label", ...}
/// Source: timm/models/_hub.py (_parse_model_cfg) and timm/models/_pretrained.py (the defaults).
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/config_parts.h"
#include "checkpoint/quote.h"
#include "image/limits.h"

namespace assay::checkpoint {
namespace {

const Json kNone = Json::object();

/// The architecture without its tag: "crossvit_9_240" of "crossvit_9_240.in1k".
std::string architecture_from(const Fields& root, const Fields& pretrained) {
  const Fields& fields = root.find("architecture") != nullptr ? root : pretrained;
  const std::string name = fields.text("architecture", "");
  const std::string architecture = name.substr(0, name.find('.'));
  if (architecture.empty()) {
    fail(ErrorKind::bad_input,
         "{} is missing or empty; it names the network, such as \"mobilevit_s\"",
         root.place("architecture"));
  }
  return architecture;
}

/// model_args before the top level before pretrained_cfg; 1,000 where all are silent, as in timm.
/// A TimmWrapper configuration may leave the count to its id2label.
int classes_from(const Fields& root, const Fields& pretrained, const Fields& args, bool wrapper) {
  for (const Fields* fields : {&args, &root, &pretrained}) {
    if (const Json* value = fields->find("num_classes"); value != nullptr) {
      if (*value == 0) {
        fail(ErrorKind::unsupported, "{} is 0: the checkpoint has no classifier",
             fields->place("num_classes"));
      }
      return static_cast<int>(fields->integer("num_classes", 0, 1, kMaxClasses));
    }
  }
  if (const Json* names = wrapper ? root.find("id2label") : nullptr;
      names != nullptr && names->is_object() && !names->empty()) {
    return static_cast<int>(names->size());
  }
  return 1000;
}

/// model_args' img_size is the input's size where the network's is fixed, one integer or two.
void apply_image_size(const Fields& args, image::Transform& transform) {
  const Json* size = args.find("img_size");
  if (size == nullptr) {
    return;
  }
  if (size->is_array()) {
    const std::vector<std::int64_t> both = args.integers("img_size", 1, image::kMaxInputSide);
    if (both.size() != 2) {
      args.refuse("img_size", "an integer, or [height, width]");
    }
    transform.input_height = static_cast<int>(both[0]);
    transform.input_width = static_cast<int>(both[1]);
    return;
  }
  const auto side = static_cast<int>(args.integer("img_size", 0, 1, image::kMaxInputSide));
  transform.input_height = transform.input_width = side;
}

/// What model_args say about the input, which timm applies to pretrained_cfg.
void apply_input_args(const Fields& args, ModelConfig& config) {
  if (args.integer("in_chans", 3, 1, image::kMaxInputSide) != 3) {
    fail(ErrorKind::unsupported, "{} is {}; only networks of 3 channels (RGB) are supported",
         args.place("in_chans"), args.integer("in_chans", 3, 1, image::kMaxInputSide));
  }
  if (args.flag("dynamic_img_size", false) || !args.flag("strict_img_size", true)) {
    config.fixed_input_size = false;
  }
  if (config.fixed_input_size) {
    apply_image_size(args, config.transform);
  }
}

/// The arguments that are left for the family: those above are no business of a family's.
std::map<std::string, std::string> family_args(const Fields& args, bool fixed_input_size) {
  std::map<std::string, std::string> left;
  for (const auto& [key, value] : args.object().items()) {
    const bool done =
        key == "num_classes" || key == "in_chans" || (key == "img_size" && fixed_input_size);
    if (!done) {
      left.emplace(key, value.dump());
    }
  }
  return left;
}

/// A label_offset drops that many leading rows of the classifier, which no family does.
void refuse_label_offset(const Fields& pretrained) {
  if (pretrained.integer("label_offset", 0, 0, kMaxClasses) != 0) {
    fail(ErrorKind::unsupported, "{}: classifiers with an offset are not supported",
         pretrained.place("label_offset"));
  }
}

}  // namespace

ModelConfig parse_config(std::string_view text, std::string_view what) {
  const Json document = parse_json(text, what);
  const Fields root(document, what, "");
  refuse_transformers_native(root);

  const Json* nested = root.find("pretrained_cfg");
  const Fields pretrained = nested == nullptr ? root : Fields(*nested, what, "pretrained_cfg");
  const Json* given = root.find("model_args");
  const Fields args(given == nullptr ? kNone : *given, what, "model_args");
  const bool wrapper =
      root.find("model_type") != nullptr && root.text("model_type", "") == "timm_wrapper";
  refuse_label_offset(pretrained);

  ModelConfig config;
  config.architecture = architecture_from(root, pretrained);
  config.num_classes = classes_from(root, pretrained, args, wrapper);
  config.transform = transform_from(pretrained);
  config.fixed_input_size = pretrained.flag("fixed_input_size", false);
  apply_input_args(args, config);
  if (const std::string problem = image::problem_of(config.transform); !problem.empty()) {
    fail(ErrorKind::bad_input, "{}: {}", what, problem);
  }
  config.labels = labels_from(root, pretrained, config.num_classes, wrapper);
  config.model_args = family_args(args, config.fixed_input_size);
  config.text = text;
  return config;
}

}  // namespace assay::checkpoint
