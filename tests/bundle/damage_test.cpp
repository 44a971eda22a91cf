// A flipped bit anywhere, a cut anywhere and a byte too many are found.
#include <random>

#include "bundle/tiny_bundle.h"
#include "checkpoint/checkpoint.h"

namespace assay {
namespace {

using test::Bytes;
using test::read_outcome;

TEST(Damage, EveryFlippedByteOfATinyBundleIsFound) {
  const Bytes whole = test::bytes_of(test::tiny_bundle());
  ASSERT_FALSE(read_outcome(whole).kind) << read_outcome(whole).message;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes damaged = whole;
    damaged[i] ^= std::byte{0xff};
    const auto outcome = read_outcome(damaged);
    ASSERT_TRUE(outcome.kind) << "byte " << i;
    EXPECT_EQ(*outcome.kind, i < 8 ? ErrorKind::bad_input : ErrorKind::corrupt) << "byte " << i;
  }
}

TEST(Damage, EveryFlippedBitOfThePreambleAndThePaddingIsFound) {
  const Bytes whole = test::bytes_of(test::tiny_bundle());
  const auto preamble = bundle::decode_preamble(whole);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool header = i >= 64 && i < 64 + preamble.header_bytes;
    for (int bit = 0; bit < 8 && !header; ++bit) {
      Bytes damaged = whole;
      damaged[i] ^= std::byte{1} << bit;
      ASSERT_TRUE(read_outcome(damaged).kind) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(Damage, EveryTruncationIsFound) {
  const Bytes whole = test::bytes_of(test::tiny_bundle());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_TRUE(read_outcome(cut).kind) << size << " bytes";
  }
}

TEST(Damage, ATrailingByteIsFound) {
  Bytes whole = test::bytes_of(test::tiny_bundle());
  whole.push_back(std::byte{0});
  const auto outcome = read_outcome(whole);
  EXPECT_EQ(outcome.kind, ErrorKind::corrupt);
  EXPECT_NE(outcome.message.find("trailing bytes"), std::string::npos) << outcome.message;
}

TEST(Damage, MessagesNameTheFile) {
  Bytes whole = test::bytes_of(test::tiny_bundle());
  whole.back() = std::byte{1};
  const auto outcome = test::read_file_outcome(whole);
  EXPECT_EQ(outcome.kind, ErrorKind::corrupt);
  EXPECT_NE(outcome.message.find("read.assay"), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find("padding behind section 1"), std::string::npos) << outcome.message;
}

TEST(Damage, AMissingFileAFolderAndAnotherFormatAreNamedAsSuch) {
  EXPECT_THROW(
      {
        try {
          (void)bundle::read(test::temporary("absent.assay"));
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::not_found);
          throw;
        }
      },
      Error);
  const auto outcome = read_outcome(Bytes(200, std::byte{'x'}));
  EXPECT_EQ(outcome.kind, ErrorKind::bad_input);
  EXPECT_NE(outcome.message.find("not an Assay bundle"), std::string::npos);
}

TEST(Damage, SomeCutsAndFlipsAreFoundInFilesToo) {
  const Bytes whole = test::bytes_of(test::tiny_bundle());
  EXPECT_FALSE(test::read_file_outcome(whole).kind);
  for (std::size_t i = 0; i < whole.size(); i += whole.size() / 16) {
    Bytes damaged = whole;
    damaged[i] ^= std::byte{1};
    EXPECT_TRUE(test::read_file_outcome(damaged).kind) << i;
    damaged = whole;
    damaged.resize(i);
    EXPECT_TRUE(test::read_file_outcome(damaged).kind) << i;
  }
}

TEST(Damage, ANewerFormatVersionIsUnsupportedAndSaysWhatToDo) {
  Bytes whole = test::bytes_of(test::tiny_bundle());
  auto preamble = bundle::decode_preamble(whole);
  preamble.version = 2;
  const auto begin = bundle::encode(preamble);
  std::copy(begin.begin(), begin.end(), whole.begin());
  const auto outcome = read_outcome(whole);
  EXPECT_EQ(outcome.kind, ErrorKind::unsupported);
  EXPECT_NE(outcome.message.find("update Assay"), std::string::npos) << outcome.message;
}

TEST(Damage, SampledBitsOfARealBundleAreFound) {
  const auto checkpoint = checkpoint::open(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                           "examples/mobilevit_xxs.fashion_mnist");
  const Bytes whole = test::bytes_of(bundle::build(checkpoint, {}));
  ASSERT_FALSE(read_outcome(whole).kind) << read_outcome(whole).message;
  const auto path = test::temporary("flip.assay");
  test::put_file(path, whole);
  std::mt19937_64 random(17);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (int i = 0; i < 200; ++i) {
    const auto place = random() % whole.size();
    const auto flipped = whole[place] ^ (std::byte{1} << (random() % 8));
    const auto put = [&](std::byte byte) {
      file.seekp(static_cast<std::streamoff>(place));
      file.put(static_cast<char>(byte));
      file.flush();
    };
    put(flipped);
    EXPECT_THROW((void)bundle::read(path), Error) << "byte " << place;
    put(whole[place]);
  }
  EXPECT_NO_THROW((void)bundle::read(path));
}

}  // namespace
}  // namespace assay
