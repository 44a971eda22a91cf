#include "base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace assay {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr std::size_t kWidth = 30;

std::string bar(double share) {
  const auto filled = static_cast<std::size_t>(share * kWidth);
  std::string text(filled, '=');
  if (filled < kWidth) text += '>';
  text.resize(kWidth, ' ');
  return text;
}

}  // namespace

Progress::Progress(std::string label, std::uint64_t total, std::FILE* stream)
    : label_(std::move(label)),
      total_(total),
      stream_(stream),
      enabled_(::isatty(::fileno(stream)) == 1),
      start_(Clock::now()),
      next_(start_ + kInterval) {}

Progress::~Progress() { wipe(); }

void Progress::advance(std::uint64_t amount) {
  if (!enabled_) return;
  const std::scoped_lock lock(mutex_);
  done_ += amount;
  const auto now = Clock::now();
  if (now >= next_) draw(now);
}

void Progress::clear() {
  if (!enabled_) return;
  const std::scoped_lock lock(mutex_);
  wipe();
}

void Progress::draw(Clock::time_point now) {
  next_ = now + kInterval;
  drawn_ = true;
  if (total_ == 0) {
    fmt::print(stream_, "\r\033[K{}  {}", label_, done_);
  } else {
    const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    const auto left = share > 0 ? static_cast<std::uint64_t>(elapsed * (1 - share) / share) : 0;
    fmt::print(stream_, "\r\033[K{}  [{}]  {}/{}  {}:{:02} left", label_, bar(share), done_, total_,
               left / 60, left % 60);
  }
  std::fflush(stream_);
}

void Progress::wipe() {
  if (!drawn_) return;
  drawn_ = false;
  fmt::print(stream_, "\r\033[K");
  std::fflush(stream_);
}

}  // namespace assay
