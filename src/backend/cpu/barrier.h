#pragma once
#include <atomic>
#include <thread>

namespace assay::backend::cpu {

/// Lets the workers of one image wait for each other between steps, a few hundred times an image:
/// they spin, since sleeping and waking would cost more than most steps, and give up their core now
/// and then in case there are more of them than cores.
class Barrier {
 public:
  explicit Barrier(int workers) : workers_(workers) {}

  void wait() {
    const unsigned phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == workers_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins < kSpins) {
        relax();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  static constexpr int kSpins = 2000;

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  const int workers_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<unsigned> phase_{0};
};

}  // namespace assay::backend::cpu
