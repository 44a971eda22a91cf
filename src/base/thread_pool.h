#pragma once
/// A fixed set of threads that run one loop at a time, for kernels: no allocation, no queue.
#include <cstdint>
#include <memory>

namespace assay {

/// The most threads that a call may be asked to use.
inline constexpr int kMaxThreads = 1024;

/// Threads that share one loop at a time. The calling thread takes part as worker 0. A call
/// allocates nothing. Used by one calling thread at a time; run() from two threads is an error of
/// the caller's. Workers spin briefly between loops and then sleep.
class ThreadPool {
 public:
  /// `threads` workers in all, at least 1 (then run() is a plain call).
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  [[nodiscard]] int size() const;

  /// Calls `body(worker)` once on every worker, worker in [0, size()), and returns when all are
  /// done. `body` must not throw.
  template <typename Body>
  void run(const Body& body) {
    run_erased(
        [](const void* context, int worker) { (*static_cast<const Body*>(context))(worker); },
        &body);
  }

 private:
  using Function = void (*)(const void* context, int worker);
  void run_erased(Function function, const void* context);
  struct State;
  std::unique_ptr<State> state_;
};

/// The cores that this process may use (its affinity mask), at least 1.
int available_cores();

}  // namespace assay
