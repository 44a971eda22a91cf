#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "assay/error.h"
#include "backend/cpu/isa.h"

namespace assay::backend::cpu {
namespace {

using testing::HasSubstr;

constexpr std::array kAll{Isa::avx512, Isa::avx2, Isa::portable};
constexpr std::array kNoAvx512{Isa::avx2, Isa::portable};

void expect_refused(std::string_view forced, std::span<const Isa> built,
                    std::span<const Isa> supported, ErrorKind kind, const std::string& text) {
  try {
    choose_isa(forced, built, supported);
    FAIL() << forced << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), HasSubstr(text));
    EXPECT_THAT(error.what(), HasSubstr(std::string(forced)));
  }
}

TEST(CpuIsa, TakesTheBestThatTheMachineSupports) {
  EXPECT_EQ(choose_isa({}, kAll, kAll), Isa::avx512);
  EXPECT_EQ(choose_isa({}, kAll, kNoAvx512), Isa::avx2);
}

TEST(CpuIsa, ForcedNameWins) {
  EXPECT_EQ(choose_isa("avx2", kAll, kAll), Isa::avx2);
  EXPECT_EQ(choose_isa("portable", kAll, kAll), Isa::portable);
}

TEST(CpuIsa, RefusesAnUnknownName) {
  expect_refused("avx1024", kAll, kAll, ErrorKind::bad_input, "avx512, avx2, portable");
}

TEST(CpuIsa, RefusesWhatThisBuildLacks) {
  expect_refused("avx512", kNoAvx512, kNoAvx512, ErrorKind::unsupported, "build has no kernels");
}

TEST(CpuIsa, RefusesWhatTheMachineLacks) {
  expect_refused("avx512", kAll, kNoAvx512, ErrorKind::unsupported, "machine does not support");
}

TEST(CpuIsa, SwitchesTheProcess) {
  const Isa before = active_isa();
  for (const Isa isa : supported_isas()) {
    use_isa(isa);
    EXPECT_EQ(active_isa(), isa);
  }
  use_isa(before);
}

TEST(CpuIsa, PortableIsAlwaysThere) {
  EXPECT_EQ(supported_isas().back(), Isa::portable);
  EXPECT_EQ(built_isas().back(), Isa::portable);
}

}  // namespace
}  // namespace assay::backend::cpu
