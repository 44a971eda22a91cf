/// Any image size and transform: an Error, or the same pixels from every instruction set.
#include <hwy/targets.h>

#include <algorithm>
#include <cstring>

#include "assay/error.h"
#include "image/image.h"
#include "require.h"

namespace {

using namespace assay::image;

/// Takes values off the front of the input; zeros once it is used up.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> rest) : rest_(rest) {}

  template <typename Value>
  Value take() {
    Value value{};
    const std::size_t size = std::min(sizeof(Value), rest_.size());
    std::memcpy(&value, rest_.data(), size);
    rest_ = rest_.subspan(size);
    return value;
  }

  int below(int limit) { return static_cast<int>(take<std::uint16_t>()) % limit; }

  [[nodiscard]] std::uint8_t at(std::size_t i) const {
    return rest_.empty() ? std::uint8_t{255} : rest_[i % rest_.size()];
  }

 private:
  std::span<const std::uint8_t> rest_;
};

Transform read_transform(Reader& reader) {
  Transform transform;
  transform.input_height = reader.below(70) - 1;
  transform.input_width = reader.below(70) - 1;
  transform.interpolation = static_cast<Interpolation>(reader.below(5));
  transform.crop_mode = static_cast<CropMode>(reader.below(3));
  transform.crop_pct =
      reader.below(4) == 0 ? reader.take<double>() : (reader.below(300) + 1) / 150.;
  transform.mean[1] = reader.below(8) == 0 ? reader.take<double>() : 0.5;
  return transform;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader({data, size});
  const Transform transform = read_transform(reader);
  const int width = reader.below(reader.below(20) == 0 ? 2000 : 80);
  const int height = reader.below(reader.below(20) == 0 ? 2000 : 80);
  const std::size_t stride = static_cast<std::size_t>(width) * 3 + reader.take<std::uint8_t>() % 40;
  if (stride * static_cast<std::size_t>(height) > 1 << 16) return 0;
  std::vector<std::uint8_t> pixels;
  if (width > 0 && height > 0) {
    pixels.resize(stride * static_cast<std::size_t>(height - 1) +
                  static_cast<std::size_t>(width) * 3);
  }
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = reader.at(i);
  const View image{.pixels = pixels, .width = width, .height = height, .stride = stride};
  const auto area = std::max(transform.input_height, 0) * std::max(transform.input_width, 0);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(area) * 3);
  std::vector<std::uint8_t> plain(out.size());
  const std::int64_t supported = hwy::SupportedTargets();
  try {
    Workspace workspace;
    resize_and_crop(image, transform, workspace, out);
    hwy::GetChosenTarget().Update(HWY_SCALAR);
    resize_and_crop(image, transform, workspace, plain);
    assay::fuzz::require(out == plain, "every instruction set gives the same pixels");
  } catch (const assay::Error&) {
  }
  hwy::GetChosenTarget().Update(supported);
  return 0;
}
