/// Any text as config.json: an Error, or a configuration that can be worked with.
#include <algorithm>
#include <string_view>

#include "assay/error.h"
#include "checkpoint/checkpoint.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using assay::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto config = assay::checkpoint::parse_config(text, "input");
    require(!config.architecture.empty(), "there is an architecture");
    require(config.num_classes >= 1, "there is a class");
    require(config.labels.size() == static_cast<std::size_t>(config.num_classes),
            "each class has a label");
    const auto& transform = config.transform;
    require(transform.input_height >= 1 && transform.input_width >= 1, "the input has a size");
    require(transform.crop_pct > 0 && transform.crop_pct <= 1, "the crop is a share");
    require(std::all_of(transform.std.begin(), transform.std.end(), [](double v) { return v > 0; }),
            "std can be divided by");
    require(config.text == text, "the text is kept");
  } catch (const assay::Error&) {
  }
  return 0;
}
