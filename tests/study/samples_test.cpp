#include "study/samples.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "assay/error.h"
#include "base/file.h"

namespace assay::study {
namespace {

std::filesystem::path file(const char* name) {
  return std::filesystem::path(testing::TempDir()) / (std::to_string(getpid()) + name);
}

void put(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

TEST(Samples, ReadBackBitForBit) {
  Samples samples;
  samples["m"].positions = {3, 99};
  samples["m"].logits["fp32"] = {0.1F, -1e-40F, 3.4e38F, 1.0F / 3};
  samples["m"].logits["bad"] = {std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(), 0.0F, -0.0F};
  write_samples(samples, file("samples.json"));
  const Samples read = read_samples(file("samples.json"));
  EXPECT_EQ(read.at("m").positions, samples["m"].positions);
  EXPECT_EQ(read.at("m").logits, samples["m"].logits);
}

TEST(Samples, KeepNumbersThatAreNone) {
  Samples samples;
  samples["m"].logits["v"] = {std::numeric_limits<float>::quiet_NaN()};
  write_samples(samples, file("nan.json"));
  EXPECT_TRUE(std::isnan(read_samples(file("nan.json")).at("m").logits.at("v").at(0)));
}

TEST(Samples, RefuseWhatIsNoSamplesFile) {
  for (const char* text : {"[]", "{\"m\": 3}", "{\"m\": {\"positions\": [-1], \"logits\": {}}}",
                           "{\"m\": {\"positions\": [], \"logits\": {\"v\": [true]}}}",
                           "{\"m\": {\"positions\": [], \"logits\": 5}}"}) {
    put(file("broken.json"), text);
    EXPECT_THROW(static_cast<void>(read_samples(file("broken.json"))), Error) << text;
  }
  EXPECT_THROW(static_cast<void>(read_samples(file("absent.json"))), Error);
}

}  // namespace
}  // namespace assay::study
