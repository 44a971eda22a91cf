#pragma once
/// A progress bar for long jobs, for people: it is drawn on a terminal only.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace assay {

/// "eval  [=======>            ]  3500/10000  0:12 left". Nothing is written where `stream` is not
/// a terminal, so a piped program stays quiet. Drawn at most ten times a second; the line is wiped
/// when the object goes. Thread-safe.
class Progress {
 public:
  /// `total` 0: unknown, then only the count is shown.
  Progress(std::string label, std::uint64_t total, std::FILE* stream = stderr);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void advance(std::uint64_t amount = 1);
  /// Wipes the line, so that a message can be printed; the next advance() draws it again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);
  void wipe();

  std::mutex mutex_;
  std::string label_;
  std::uint64_t total_;
  std::FILE* stream_;
  bool enabled_;
  bool drawn_ = false;
  std::uint64_t done_ = 0;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace assay
