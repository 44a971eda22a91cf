#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "assay/error.h"
#include "base/allocation_counter.h"

namespace assay {
namespace {

class Pools : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Pools, testing::Values(1, 2, 3, 8));

TEST_P(Pools, RunsEveryWorkerOnceEveryTime) {
  ThreadPool pool(GetParam());
  ASSERT_EQ(pool.size(), GetParam());
  std::vector<int> calls(static_cast<std::size_t>(GetParam()));  // not atomic: run() orders them
  for (int loop = 1; loop <= 500; ++loop) {
    pool.run([&](int worker) { ++calls.at(static_cast<std::size_t>(worker)); });
    for (const int count : calls) ASSERT_EQ(count, loop);
  }
}

TEST_P(Pools, WakesWorkersThatSleep) {
  ThreadPool pool(GetParam());
  std::atomic<int> calls{0};
  for (int loop = 0; loop < 5; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // far longer than they spin
    pool.run([&](int) { ++calls; });
  }
  EXPECT_EQ(calls.load(), 5 * GetParam());
}

TEST_P(Pools, WaitsForASlowWorker) {
  ThreadPool pool(GetParam());
  std::vector<int> done(static_cast<std::size_t>(GetParam()));
  pool.run([&](int worker) {
    if (worker != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done[static_cast<std::size_t>(worker)] = 1;
  });
  for (const int flag : done) EXPECT_EQ(flag, 1);
}

TEST(ThreadPoolTest, TheCallerIsWorkerZero) {
  ThreadPool pool(2);
  std::thread::id worker_zero;
  pool.run([&](int worker) {
    if (worker == 0) worker_zero = std::this_thread::get_id();
  });
  EXPECT_EQ(worker_zero, std::this_thread::get_id());
}

TEST(ThreadPoolTest, MayBeUsedByOneThreadAfterAnother) {
  ThreadPool pool(2);
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      pool.run([&](int worker) {
        if (worker == 1) ++calls;
      });
    }).join();
  }
  EXPECT_EQ(calls, 3);
}

TEST(ThreadPoolTest, CreatedAndDestroyedUnused) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

TEST(ThreadPoolTest, RefusesNoThreads) {
  EXPECT_THROW(ThreadPool(0), Error);
  EXPECT_THROW(ThreadPool(-1), Error);
}

TEST(ThreadPoolTest, RunAllocatesNothing) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  const auto before = testing_support::allocations();
  if (!before) GTEST_SKIP() << "the sanitizer's allocator is in use";
  ASSERT_GT(*before, 0U);
  for (int i = 0; i < 100; ++i) pool.run([&](int) { ++calls; });
  EXPECT_EQ(testing_support::allocations(), before);
}

TEST(AvailableCores, FollowTheAffinityMask) {
  const int before = available_cores();
  EXPECT_GE(before, 1);
  cpu_set_t old_mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof old_mask, &old_mask), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof old_mask, &old_mask), 0);
  EXPECT_EQ(available_cores(), before);
}

}  // namespace
}  // namespace assay
