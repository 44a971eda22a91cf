/// Times each step from a file's bytes to the network's input: decode, resize and crop, normalize.
///
///     image_bench [--benchmark_...] [IMAGE]
///
/// IMAGE is a JPEG, PNG or WebP file; without one it is the tests' photograph of 500 × 375 pixels.
/// The transform is timm's default for ImageNet: bicubic to a short side of 256, the centre 224.
/// The digest of what it gives is in the output's context, for bench/peers/pillow_resize.py to
/// compare before it times.
#include <benchmark/benchmark.h>

#include "base/file.h"
#include "base/hash.h"
#include "image/image.h"

namespace {

using namespace assay::image;

struct Subject {
  std::vector<std::byte> file;
  Image image;
  Transform transform;
  Workspace workspace;
  Image resized{.width = 224, .height = 224, .pixels = {}};
  std::vector<float> tensor;

  explicit Subject(const std::string& path) : file(assay::read_file(path, 1U << 30)) {
    image = decode(file, path);
    resized.pixels.resize(224 * 224 * 3);
    tensor.resize(224 * 224 * 3);
    resize();
  }
  void decode_again() { decode(file, "the image", {}, image); }
  void resize() { resize_and_crop(view(image), transform, workspace, resized.pixels); }
};

template <typename Body>
void add(const char* name, Body body) {
  benchmark::RegisterBenchmark(name, [body](benchmark::State& state) {
    for (auto _ : state) body();
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Subject subject(argc > 1 ? argv[1] : ASSAY_SOURCE_DIR "/tests/golden/image/photo.jpg");
  benchmark::AddCustomContext("resized_sha256",
                              assay::sha256_hex(std::as_bytes(std::span(subject.resized.pixels))));
  add("decode", [&] { subject.decode_again(); });
  add("resize_and_crop", [&] { subject.resize(); });
  add("resize_and_crop_new_size", [&] {
    subject.workspace = Workspace();
    subject.resize();
  });
  add("normalize_hwc", [&] { normalize_hwc(subject.resized, subject.transform, subject.tensor); });
  add("decode_resize_crop", [&] {
    subject.decode_again();
    subject.resize();
  });
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
