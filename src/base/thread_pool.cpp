#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

/// How long a thread watches before it sleeps: longer than the serial part between two loops of one
/// network, shorter than anyone would notice on an idle machine.
constexpr auto kWatchTime = std::chrono::microseconds(50);
/// How long of that it keeps its core. After that it offers the core to others between two looks:
/// on a busy machine the thread that it waits for may be on the same core.
constexpr auto kSpinTime = std::chrono::microseconds(2);

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until `variable` differs from `old`: watches first where `spin` says so, then sleeps.
std::uint32_t await_change(const std::atomic<std::uint32_t>& variable, std::uint32_t old,
                           bool spin) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (auto now = start; spin && now - start < kWatchTime; now = Clock::now()) {
    const bool keep_core = now - start < kSpinTime;
    for (int look = 0; look < (keep_core ? 32 : 1); ++look) {
      const std::uint32_t found = variable.load(std::memory_order_acquire);
      if (found != old) return found;
      relax();
    }
    if (!keep_core) std::this_thread::yield();
  }
  variable.wait(old);
  return variable.load();
}

}  // namespace

/// The caller publishes a loop by counting `generation` up; workers count `running` down.
/// A generation is never published before every worker has finished the one before.
struct ThreadPool::State {
  // Each on its own cache line: one is written by the caller, the other by the workers.
  alignas(64) std::atomic<std::uint32_t> generation{0};
  alignas(64) std::atomic<std::uint32_t> running{0};
  alignas(64) Function function = nullptr;
  const void* context = nullptr;
  bool stop = false;
  bool spin = true;
  std::vector<std::thread> threads;

  void publish() {
    generation.fetch_add(1);
    generation.notify_all();
  }

  void work(int worker) {
    std::uint32_t seen = 0;
    while (true) {
      seen = await_change(generation, seen, spin);
      if (stop) return;
      function(context, worker);
      if (running.fetch_sub(1) == 1) running.notify_one();
    }
  }

  ~State() {
    stop = true;
    publish();
    for (std::thread& thread : threads) thread.join();
  }
};

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) {
    fail(ErrorKind::bad_input, "a thread pool of {} threads was asked for, expected at least 1",
         threads);
  }
  state_ = std::make_unique<State>();
  // More threads than cores: whoever spins keeps a core from the one it waits for.
  state_->spin = threads <= available_cores();
  state_->threads.reserve(static_cast<std::size_t>(threads - 1));
  try {
    for (int worker = 1; worker < threads; ++worker) {
      state_->threads.emplace_back(&State::work, state_.get(), worker);
    }
  } catch (const std::system_error& error) {
    fail(ErrorKind::out_of_memory, "cannot start thread {} of {}: {}", state_->threads.size() + 2,
         threads, error.what());
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::size() const { return static_cast<int>(state_->threads.size()) + 1; }

void ThreadPool::run_erased(Function function, const void* context) {
  State& state = *state_;
  if (state.threads.empty()) {
    function(context, 0);
    return;
  }
  state.function = function;
  state.context = context;
  state.running.store(static_cast<std::uint32_t>(state.threads.size()));
  state.publish();
  function(context, 0);
  for (std::uint32_t left = state.running.load(); left != 0;) {
    left = await_change(state.running, left, state.spin);
  }
}

int available_cores() {
  // The kernel refuses a mask smaller than its own, so grow until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    std::vector<cpu_set_t> sets((static_cast<std::size_t>(cpus) + CPU_SETSIZE - 1) / CPU_SETSIZE);
    const std::size_t bytes = sets.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, sets.data()) == 0) {
      return std::max(1, CPU_COUNT_S(bytes, sets.data()));
    }
    if (errno != EINVAL) break;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace assay
