#include "study/speed.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "image/write.h"
#include "pipeline/boundaries.h"
#include "pipeline/measure.h"
#include "study/split.h"

namespace assay::study {
namespace {

constexpr std::uint64_t kMaxImageFile = std::uint64_t{1} << 30;
/// Different photos in rotation.
constexpr std::uint64_t kPhotos = 8;

/// A boundary as study.json calls it.
struct Named {
  pipeline::Boundary boundary;
  const char* name;
};
constexpr std::array<Named, 3> kBoundaries{{{pipeline::kDevice, "device"},
                                            {pipeline::kCall, "call"},
                                            {pipeline::kEndToEnd, "end_to_end"}}};

/// The sample's file; of a sample that is pixels, a PNG of them.
std::vector<std::byte> encoded(const pipeline::Sample& sample) {
  if (const auto* path = std::get_if<std::filesystem::path>(&sample.content))
    return read_file(*path, kMaxImageFile);
  if (const auto* bytes = std::get_if<std::vector<std::byte>>(&sample.content)) return *bytes;
  return image::encode_png(std::get<image::Image>(sample.content));
}

std::vector<image::Image> as_images(const Images& images, const image::Transform& transform) {
  std::vector<image::Image> made;
  const std::size_t each = images.rgb.size() / images.count();
  for (std::size_t i = 0; i < images.count(); ++i) {
    const auto first = images.rgb.begin() + static_cast<std::ptrdiff_t>(i * each);
    made.push_back({transform.input_width,
                    transform.input_height,
                    {first, first + static_cast<std::ptrdiff_t>(each)}});
  }
  return made;
}

/// What is timed: a variant, by its place, at all boundaries.
struct Timed {
  std::size_t variant = 0;
  std::unique_ptr<pipeline::BoundaryInputs> inputs;
};

class SpeedRun {
 public:
  SpeedRun(std::span<const VariantBuild> builds, const DataSource& source,
           std::span<const std::uint64_t> positions, const SpeedSpec& spec, int threads,
           std::span<Variant> variants)
      : builds_(builds), spec_(spec), threads_(threads), variants_(variants) {
    const auto few = spread(positions, kPhotos);
    images_ = as_images(load_images(source, few, threads), source.transform);
    for (const pipeline::Sample& sample : load_samples(source, few))
      photos_.push_back(encoded(sample));
  }

  void run(std::uint64_t batch, const std::function<void()>& tick) {
    const std::vector<Timed> timed = prepare(static_cast<int>(batch));
    std::vector<pipeline::Candidate> candidates;
    for (const Timed& one : timed)
      for (const Named& boundary : kBoundaries)
        candidates.push_back(one.inputs->candidate(boundary.boundary));
    if (candidates.empty()) return;
    const auto timings = pipeline::measure(
        candidates, {static_cast<int>(spec_.warmup), static_cast<int>(spec_.rounds)}, tick);
    keep(batch, timed, timings);
  }

 private:
  std::vector<Timed> prepare(int batch) {
    std::vector<Timed> timed;
    for (std::size_t i = 0; i < builds_.size(); ++i) {
      if (!variants_[i].speed_reason.empty()) continue;
      auto inputs = std::make_unique<pipeline::BoundaryInputs>(
          load_variant(builds_[i], threads_, batch), batch, images_, photos_);
      try {
        inputs->verify();
      } catch (const Error& error) {
        variants_[i].speed_reason = error.what();
        variants_[i].speed.batch.clear();
        continue;
      }
      timed.push_back({i, std::move(inputs)});
    }
    return timed;
  }

  /// `timings` are in the order of the candidates.
  void keep(std::uint64_t batch, std::span<const Timed> timed,
            std::span<const pipeline::Timing> timings) {
    for (std::size_t i = 0; i < timed.size(); ++i)
      for (std::size_t b = 0; b < kBoundaries.size(); ++b) {
        const pipeline::Timing& timing = timings[i * kBoundaries.size() + b];
        const Interval interval = timing.interval();
        SpeedRow row{batch,
                     kBoundaries[b].name,
                     1e3 * timing.median(),
                     {1e3 * interval.low, 1e3 * interval.high},
                     std::nullopt,
                     {}};
        if (timed.front().variant == 0)
          row.ratio_to_fp32 = ratio_of(timings[b].seconds, timing.seconds);
        for (const double seconds : timing.seconds) row.samples_ms.push_back(1e3 * seconds);
        variants_[timed[i].variant].speed.batch.push_back(std::move(row));
      }
  }

  std::span<const VariantBuild> builds_;
  const SpeedSpec& spec_;
  int threads_;
  std::span<Variant> variants_;
  std::vector<image::Image> images_;
  std::vector<std::vector<std::byte>> photos_;
};

}  // namespace

Measuring measuring(const SpeedSpec& spec) {
  Measuring measuring;
  measuring.clock = "std::chrono::steady_clock, wall time around each call";
  measuring.synchronization =
      "a call returns when its last worker has finished; nothing runs on when the clock is read";
  measuring.warm_up = spec.warmup;
  measuring.rounds = spec.rounds;
  measuring.calls = 1;
  for (const Named& boundary : kBoundaries)
    measuring.boundaries[boundary.name] = boundary.boundary.what;
  return measuring;
}

void measure_speed(std::span<const VariantBuild> builds, const DataSource& source,
                   std::span<const std::uint64_t> positions, const SpeedSpec& spec, int threads,
                   std::span<Variant> variants, const std::function<void()>& tick) {
  for (Variant& variant : variants) variant.speed.batch.clear();
  SpeedRun run(builds, source, positions, spec, threads, variants);
  for (const std::uint64_t batch : spec.batches) run.run(batch, tick);
}

std::uint64_t speed_rounds(const SpeedSpec& spec) {
  return spec.batches.size() * (spec.warmup + spec.rounds);
}

Estimate ratio_of(std::span<const double> fp32, std::span<const double> other) {
  if (fp32.size() != other.size() || fp32.empty())
    fail(ErrorKind::internal, "a ratio of {} and {} rounds", fp32.size(), other.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < fp32.size(); ++i) ratios.push_back(fp32[i] / other[i]);
  return {median(ratios), median_interval(ratios)};
}

}  // namespace assay::study
