#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(CpuIsa, EachSupportedSetBringsThoseBeforeIt) {
  std::size_t expected = 0;
  for (const Isa isa : supported_isas()) {
    expected = std::max(expected, static_cast<std::size_t>(isa) + 1);
  }
  EXPECT_EQ(supported_isas().size(), expected);
  EXPECT_TRUE(std::is_sorted(supported_isas().rbegin(), supported_isas().rend()));
}

TEST(CpuIsa, TakesEveryNameThatIsBuilt) {
  for (const Isa isa : built_isas()) {
    EXPECT_EQ(choose_isa(name(isa), built_isas(), built_isas()), isa);
  }
}

TEST(CpuIsa, AnExtensionIsRefusedWhereOnlyItsBaseIsThere) {
  constexpr std::array kBuilt{Isa::amx,    Isa::avx512_bf16, Isa::avx512_vnni,
                              Isa::avx512, Isa::avx2,        Isa::portable};
  expect_refused("amx", kBuilt, kAll, ErrorKind::unsupported, "it has avx512, avx2, portable");
  expect_refused("avx512_bf16", kBuilt, kAll, ErrorKind::unsupported, "machine does not support");
  EXPECT_EQ(choose_isa("avx512", kBuilt, kAll), Isa::avx512);
}

TEST(CpuIsa, PortableIsAlwaysThere) {
  EXPECT_EQ(supported_isas().back(), Isa::portable);
  EXPECT_EQ(built_isas().back(), Isa::portable);
}

}  // namespace
}  // namespace assay::backend::cpu
