#pragma once
/// The parts that parse_config() puts together; one source file each.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/config_fields.h"
#include "image/image.h"

namespace assay::checkpoint {

constexpr std::int64_t kMaxClasses = 1'000'000;

/// The evaluation transform as timm resolves it from a pretrained_cfg, use_test_size off: an absent
/// key is input_size 3 × 224 × 224, bicubic, crop_pct 0.875, center, ImageNet's mean and std.
/// Source: timm/data/config.py, resolve_data_config. Stricter: a value that timm would take and
/// that makes no sense (crop_pct outside (0, 1], a std of 0, an unknown crop_mode) is an error.
/// Throws bad_input, or unsupported for names and channel counts that nothing here implements.
image::Transform transform_from(const Fields& pretrained);

/// The names of `classes` classes. `root` is the whole document, `pretrained` its pretrained_cfg
/// (the same object in the flat dialect). Throws bad_input where the names are not as many.
///
/// label_names, from the top level before pretrained_cfg's, is a list or an object from index to
/// name, which may have gaps; the flat dialect also calls it labels. A WordNet id for a name gives
/// way to its label_descriptions. Without names: label_descriptions as a list, then `wrapper`'s
/// id2label, then ImageNet-1k's names for 1,000 classes, then "class 0", "class 1", ...
std::vector<std::string> labels_from(const Fields& root, const Fields& pretrained, int classes,
                                     bool wrapper);

/// Whether `root` is a configuration of transformers that timm does not write, and so not one that
/// is read here. Throws unsupported naming its model_type and the nearest architectures; returns
/// for every other document.
void refuse_transformers_native(const Fields& root);

}  // namespace assay::checkpoint
