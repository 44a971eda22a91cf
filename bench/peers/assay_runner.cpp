/// Assay as one of the runners of bench/peers: a process that waits for its turn.
///
///     assay_runner BUNDLE THREADS
///
/// Says in one line of JSON what it runs, then reads commands from the standard input, one a line,
/// and answers each with one line:
///     inputs FILE                  8-bit RGB [N, H, W, 3] of the bundle's input size; answers N
///     logits BOUNDARY I            the logits of input I
///     run BOUNDARY I WARM COUNT    WARM calls on input I that are not timed, then COUNT that are;
///                                  answers their nanoseconds
/// BOUNDARY is `device` (resident normalized tensor to resident logits) or `call` (8-bit RGB to
/// logits). The clock is the monotonic one, as Python's perf_counter is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "base/error.h"
#include "base/file.h"
#include "image/image.h"
#include "pipeline/classifier.h"

namespace {

using namespace assay;

constexpr std::uint64_t kMaxInputBytes = std::uint64_t{1} << 31;

class Runner {
 public:
  explicit Runner(Classifier classifier)
      : classifier_(std::move(classifier)),
        lease_(classifier_.state().sessions.take()),
        logits_(static_cast<std::size_t>(classifier_.info().classes)) {}

  [[nodiscard]] std::string description() const {
    const ModelInfo& info = classifier_.info();
    return fmt::format(R"({{"architecture":"{}","precision":"{}","plan":"{}","version":"{}"}})",
                       info.architecture, info.precision, info.plan, version());
  }

  std::string answer(const std::string& command) {
    std::istringstream words(command);
    std::string verb;
    words >> verb;
    if (verb == "inputs") {
      std::string file;
      std::getline(words >> std::ws, file);
      return load_inputs(file);
    }
    std::string boundary;
    std::size_t input = 0;
    words >> boundary >> input;
    if (verb == "logits" && words) {
      call(boundary, input);
      return fmt::format("{}", fmt::join(logits_, " "));
    }
    int warm = 0;
    int count = 0;
    words >> warm >> count;
    if (verb != "run" || !words) fail(ErrorKind::bad_input, "unknown command: {}", command);
    return timed(boundary, input, warm, count);
  }

 private:
  std::string load_inputs(const std::string& file) {
    const image::Transform& transform = classifier_.state().bundle.transform;
    const std::size_t pixels = static_cast<std::size_t>(transform.input_height) *
                               static_cast<std::size_t>(transform.input_width) * 3;
    const std::vector<std::byte> bytes = read_file(file, kMaxInputBytes);
    if (bytes.empty() || bytes.size() % pixels != 0) {
      fail(ErrorKind::bad_input, "{}: {} bytes are no whole number of {}x{} RGB images", file,
           bytes.size(), transform.input_height, transform.input_width);
    }
    images_.clear();
    tensors_.clear();
    for (std::size_t at = 0; at < bytes.size(); at += pixels) {
      image::Image image{.width = static_cast<int>(transform.input_width),
                         .height = static_cast<int>(transform.input_height),
                         .pixels = {}};
      const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data() + at);
      image.pixels.assign(first, first + pixels);
      images_.push_back(std::move(image));
    }
    // Only what is timed on the device boundary needs tensors; many images are for agreement.
    tensors_.resize(images_.size());
    return fmt::format("{}", images_.size());
  }

  void call(const std::string& boundary, std::size_t input) {
    if (input >= images_.size()) {
      fail(ErrorKind::bad_input, "input {} of {} was asked for", input, images_.size());
    }
    if (boundary == "device") {
      lease_.session().run({.rgb = {}, .tensor = tensor(input)}, 1,
                           {.logits = logits_, .features = {}});
    } else if (boundary == "call") {
      classifier_.run_rgb(images_[input].pixels, 1, logits_);
    } else {
      fail(ErrorKind::bad_input, "unknown boundary: {}", boundary);
    }
  }

  const std::vector<float>& tensor(std::size_t input) {
    std::vector<float>& tensor = tensors_[input];
    if (tensor.empty()) {
      tensor.resize(images_[input].pixels.size());
      image::normalize_hwc(images_[input], classifier_.state().bundle.transform, tensor);
    }
    return tensor;
  }

  std::string timed(const std::string& boundary, std::size_t input, int warm, int count) {
    using Clock = std::chrono::steady_clock;
    call(boundary, input);  // whatever happens on the first call alone is behind
    for (int i = 1; i < warm; ++i) call(boundary, input);
    std::vector<std::int64_t> nanoseconds;
    nanoseconds.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const Clock::time_point before = Clock::now();
      call(boundary, input);
      nanoseconds.push_back(std::chrono::nanoseconds(Clock::now() - before).count());
    }
    return fmt::format("{}", fmt::join(nanoseconds, " "));
  }

  const Classifier classifier_;
  pipeline::SessionPool::Lease lease_;
  std::vector<float> logits_;
  std::vector<image::Image> images_;
  std::vector<std::vector<float>> tensors_;
};

int number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) {
    fail(ErrorKind::bad_input, "{} is no number of threads", text);
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: assay_runner BUNDLE THREADS < commands\n");
    return 2;
  }
  try {
    LoadOptions options;
    options.threads = number(argv[2]);
    Runner runner(load(argv[1], options));
    std::cout << runner.description() << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << runner.answer(line) << std::endl;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "assay_runner: {}\n", error.what());
    return 1;
  }
  return 0;
}
