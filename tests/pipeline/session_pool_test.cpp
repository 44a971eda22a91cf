#include "pipeline/session_pool.h"

#include <latch>
#include <optional>
#include <thread>

#include "pipeline/fake_plan.h"

namespace assay {
namespace {

using pipeline::SessionPool;

class SessionPoolTest : public testing::Test {
 protected:
  test::FakeCounters counters_;
  test::FakePlan plan_{counters_, 16, {}};
};

TEST_F(SessionPoolTest, MakesNoSessionBeforeItIsNeededAndReusesTheLast) {
  SessionPool pool(plan_, 4);
  EXPECT_EQ(counters_.sessions, 0);
  const backend::Session* first = &pool.take().session();
  EXPECT_EQ(&pool.take().session(), first);
  EXPECT_EQ(pool.made(), 1);
}

TEST_F(SessionPoolTest, GrowsToTheNumberOfLeases) {
  SessionPool pool(plan_, 4);
  const auto a = pool.take();
  const auto b = pool.take();
  EXPECT_NE(&a.session(), &b.session());
  EXPECT_EQ(pool.made(), 2);
}

TEST_F(SessionPoolTest, AtTheBoundACallerWaitsForASession) {
  SessionPool pool(plan_, 1);
  std::atomic<bool> got{false};
  std::optional<std::thread> waiting;
  {
    const auto lease = pool.take();
    waiting.emplace([&] {
      const auto second = pool.take();
      got = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(got);
  }
  waiting->join();
  EXPECT_TRUE(got);
  EXPECT_EQ(pool.made(), 1);
}

TEST_F(SessionPoolTest, ASessionThatCouldNotBeMadeTakesNoPlace) {
  SessionPool pool(plan_, 1);
  counters_.failures_to_make = 2;
  EXPECT_THROW((void)pool.take(), std::bad_alloc);
  EXPECT_THROW((void)pool.take(), std::bad_alloc);
  (void)pool.take();
  EXPECT_EQ(pool.made(), 1);
}

TEST_F(SessionPoolTest, ScratchStaysWithItsSession) {
  SessionPool pool(plan_, 2);
  pool.take().scratch().assign(3, 7.0F);
  EXPECT_EQ(pool.take().scratch().size(), 3u);
}

TEST_F(SessionPoolTest, ManyThreadsNeverShareASession) {
  SessionPool pool(plan_, 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      const std::vector<std::uint8_t> rgb(48, 9);
      std::array<float, 3> logits{};
      for (int i = 0; i < 200; ++i) pool.take().session().run({rgb, {}}, 1, {logits, {}});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(counters_.shared);
  EXPECT_LE(counters_.most_running, 3);
  EXPECT_LE(pool.made(), 3);
}

}  // namespace
}  // namespace assay
