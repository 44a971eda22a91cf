#include <gtest/gtest.h>

#include "base/machine.h"
#include "base/thread_pool.h"
#include "bundle/tiny_bundle.h"

namespace assay {
namespace {

using test::temporary;

TEST(Tuning, IsKeptAndFoundOnThisMachineAlone) {
  bundle::Bundle bundle = test::tiny_bundle();
  int done = 0;
  bundle::tune(bundle, 1, {3, [&](int now, int) { done = now; }});
  EXPECT_EQ(done, 6);
  ASSERT_EQ(bundle.tunings.size(), 1u);
  EXPECT_EQ(bundle.optimization_level, 3);
  EXPECT_EQ(bundle.tunings[0].cpu, cpu_model());
  bundle.tunings[0].tactics = {{"head", "by hand"}};

  const auto path = temporary("tuned.assay");
  bundle::write(bundle, path);
  const bundle::Bundle read = bundle::read(path);
  ASSERT_NE(bundle::tuning_here(read, 1), nullptr);
  EXPECT_EQ(bundle::tuning_here(read, 2), nullptr) << "another number of threads";
  const backend::Tactics expected{{"head", "by hand"}};
  EXPECT_EQ(bundle::lower_options(read, {"cpu", 0}, 1).tactics, expected);
  EXPECT_TRUE(bundle::lower_options(read, {"cpu", 0}, 2).tactics.empty());
  EXPECT_TRUE(bundle::lower_options(read, {"reference", 0}, 1).tactics.empty());

  bundle::Bundle elsewhere = read;
  elsewhere.tunings[0].cpu = "another processor";
  EXPECT_EQ(bundle::tuning_here(elsewhere, 1), nullptr);
}

TEST(Tuning, AgainReplacesWhatWasThere) {
  if (available_cores() < 2) GTEST_SKIP() << "this machine has one core";
  bundle::Bundle bundle = test::tiny_bundle();
  bundle::tune(bundle, 1, {3, {}});
  bundle::tune(bundle, 2, {3, {}});
  bundle::tune(bundle, 1, {3, {}});
  ASSERT_EQ(bundle.tunings.size(), 2u);
  EXPECT_EQ(bundle.tunings[0].threads, 2);
  EXPECT_EQ(bundle.tunings[1].threads, 1);
}

TEST(Tuning, NeedsFusedSteps) {
  bundle::Bundle bundle = test::tiny_bundle();
  bundle.optimization_level = 0;
  try {
    bundle::tune(bundle, 1, {3, {}});
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  }
}

}  // namespace
}  // namespace assay
