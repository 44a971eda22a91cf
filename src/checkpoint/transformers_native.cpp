#include <array>

#include "base/error.h"
#include "checkpoint/config_parts.h"
#include "checkpoint/quote.h"

namespace assay::checkpoint {
namespace {

/// A model_type of transformers and what to look for instead. `width` tells its sizes apart: the
/// first of hidden_sizes, 0 for any. This room knows no families, so the names stand here.
struct Native {
  std::string_view model_type;
  std::int64_t width;
  std::string_view nearest;
  std::string_view repository;
};

constexpr std::array kNative{
    Native{"mobilevit", 144, "mobilevit_s", "timm/mobilevit_s.cvnets_in1k"},
    Native{"mobilevit", 96, "mobilevit_xs", "timm/mobilevit_xs.cvnets_in1k"},
    Native{"mobilevit", 64, "mobilevit_xxs", "timm/mobilevit_xxs.cvnets_in1k"},
    Native{"mobilevit", 0, "mobilevit_s, mobilevit_xs, mobilevit_xxs",
           "timm/mobilevit_s.cvnets_in1k"},
    Native{"mobilevitv2", 0, "mobilevit_s, mobilevit_xs, mobilevit_xxs (MobileViT's first version)",
           "timm/mobilevit_s.cvnets_in1k"},
};

std::int64_t first_width(const Fields& root) {
  const Json* sizes = root.find("hidden_sizes");
  const bool known = sizes != nullptr && sizes->is_array() && !sizes->empty() &&
                     sizes->front().is_number_integer();
  return known ? sizes->front().get<std::int64_t>() : 0;
}

}  // namespace

void refuse_transformers_native(const Fields& root) {
  const std::string model_type = root.text("model_type", "");
  const bool of_timm = root.find("architecture") != nullptr ||
                       root.find("pretrained_cfg") != nullptr || model_type == "timm_wrapper";
  if (model_type.empty() || of_timm) {
    return;
  }
  const std::int64_t width = first_width(root);
  for (const Native& native : kNative) {
    if (model_type == native.model_type && (native.width == 0 || native.width == width)) {
      fail(ErrorKind::unsupported,
           "{} {} is a transformers-native configuration; Assay reads timm's. Nearest supported: "
           "{}; look for {}",
           root.place("model_type"), quote(model_type), native.nearest, native.repository);
    }
  }
  fail(ErrorKind::unsupported,
       "{} {} is a transformers-native configuration; Assay reads timm's, which name an "
       "architecture. Look for a timm/... repository of this model; the supported architectures "
       "are those of CrossViT (crossvit_9_240, ...) and MobileViT (mobilevit_s, ...)",
       root.place("model_type"), quote(model_type));
}

}  // namespace assay::checkpoint
