#include <gmock/gmock.h>

#include "assay/error.h"
#include "golden.h"

namespace assay::image {
namespace {

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const Json& entry : golden("decode.json")) names.push_back(entry["file"]);
  return names;
}

class DecodeGolden : public testing::TestWithParam<std::string> {
 protected:
  static Json entry() {
    for (const Json& entry : golden("decode.json")) {
      if (entry["file"] == GetParam()) return entry;
    }
    return {};
  }
};

TEST_P(DecodeGolden, IsWhatPillowGives) {
  EXPECT_TRUE(matches(decode(golden_file(GetParam()), GetParam()), entry()));
}

TEST_P(DecodeGolden, TurnsAsExifTransposeDoes) {
  const Json expected = entry().contains("rotated") ? entry()["rotated"] : entry();
  const Image image = decode(golden_file(GetParam()), GetParam(), {.apply_exif_rotation = true});
  EXPECT_TRUE(matches(image, expected));
}

TEST_P(DecodeGolden, IsAnErrorOnceCut) {
  std::vector<std::byte> file = golden_file(GetParam());
  // Bytes after a JPEG's end are not part of it.
  if (GetParam() == "bytes_after_end.jpg") file.resize(file.size() - std::strlen("trailing"));
  for (const std::size_t cut : {std::size_t{1}, std::size_t{2}, std::size_t{5}, file.size() / 3,
                                file.size() / 2, file.size() - 20, file.size() - 12}) {
    if (cut >= file.size()) continue;
    const std::span<const std::byte> part(file.data(), file.size() - cut);
    EXPECT_THROW(decode(part, "cut"), Error) << cut << " bytes less";
  }
}

INSTANTIATE_TEST_SUITE_P(Files, DecodeGolden, testing::ValuesIn(golden_files()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST(Decode, GoldensCoverEveryKindOfTurn) {
  int turned = 0;
  for (const Json& entry : golden("decode.json")) turned += entry.contains("rotated") ? 1 : 0;
  EXPECT_GE(turned, 7 + 1 + 4 + 3);  // EXIF 2 to 8 and XMP in JPEG, four ways in PNG, three in WebP
}

TEST(Decode, UsesTheMemoryOfTheLastImage) {
  Image image;
  decode(golden_file("photo.jpg"), "photo", {}, image);
  const std::uint8_t* const memory = image.pixels.data();
  decode(golden_file("grey.jpg"), "grey", {}, image);
  EXPECT_EQ(image.pixels.data(), memory);
  EXPECT_EQ(image.pixels.size(), 61U * 45 * 3);
  decode(golden_file("animated_offset.webp"), "webp", {}, image);
  EXPECT_EQ(image.pixels, decode(golden_file("animated_offset.webp"), "webp").pixels);
}

/// The error of decoding `file`, or a test failure.
Error error_of(std::span<const std::byte> file, const DecodeOptions& options = {}) {
  try {
    decode(file, "the file", options);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "");
}

void expect_error(std::span<const std::byte> file, ErrorKind kind, const std::string& part,
                  const DecodeOptions& options = {}) {
  const Error error = error_of(file, options);
  EXPECT_EQ(error.kind(), kind) << error.what();
  EXPECT_THAT(error.what(), testing::StartsWith("the file: "));
  EXPECT_THAT(error.what(), testing::HasSubstr(part));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(DecodeErrors, NameOtherFileTypes) {
  expect_error({}, ErrorKind::bad_input, "empty");
  expect_error(bytes_of("GIF89a..."), ErrorKind::unsupported, "a GIF file");
  expect_error(bytes_of("II*\0........"), ErrorKind::unsupported, "a TIFF file");
  expect_error(bytes_of("hello"), ErrorKind::unsupported, "JPEG, PNG and WebP are read");
}

TEST(DecodeErrors, RefuseImagesAboveTheLimit) {
  const DecodeOptions small{.max_pixels = 61 * 45 - 1};
  for (const char* name : {"baseline_420.jpg", "written_by_pillow.png", "lossy.webp"}) {
    expect_error(golden_file(name), ErrorKind::bad_input, "above the limit of 2744 pixels", small);
    EXPECT_NO_THROW(decode(golden_file(name), name, {.max_pixels = 61 * 45}));
  }
}

/// `file` with the bytes at `offset` replaced.
std::vector<std::byte> patched(std::string_view name, std::size_t offset, std::string_view with) {
  std::vector<std::byte> file = golden_file(name);
  std::memcpy(file.data() + offset, with.data(), with.size());
  return file;
}

/// Where `text` begins in a golden file.
std::size_t find(std::string_view name, std::string_view text) {
  const std::string file = read_text(golden_path(name), 1 << 22);
  const std::size_t at = file.find(text);
  EXPECT_NE(at, std::string::npos);
  return at;
}

TEST(DecodeErrors, RefuseADamagedScan) {
  // A marker in the middle of the scan ends its data early; libjpeg alone would paint the rest
  // grey.
  const std::size_t middle = golden_file("baseline_444.jpg").size() - 300;
  expect_error(patched("baseline_444.jpg", middle, "\xFF\xD9"), ErrorKind::bad_input,
               "Corrupt JPEG");
}

TEST(DecodeErrors, RefuseAJpegWithoutAComponentsScan) {
  std::string file = read_text(golden_path("stored_as_rgb.jpg"), 1 << 22);
  const std::size_t scan = file.find(std::string_view("\xFF\xDA\x00\x0C\x03", 5));
  ASSERT_NE(scan, std::string::npos);
  // One component in the only scan instead of three. libjpeg alone would paint the others grey.
  file.replace(scan, 14, std::string_view("\xFF\xDA\x00\x08\x01R\x00\x00\x3F\x00", 10));
  expect_error(bytes_of(file), ErrorKind::bad_input, "no data for component 2 of 3");
}

TEST(DecodeErrors, RefuseOtherJpegProcesses) {
  const std::size_t frame = find("baseline_420.jpg", "\xFF\xC0");
  expect_error(patched("baseline_420.jpg", frame, "\xFF\xC3"), ErrorKind::unsupported, "SOF");
  expect_error(patched("baseline_420.jpg", frame + 4, "\x0C"), ErrorKind::unsupported, "precision");
}

TEST(DecodeErrors, RefuseABadChecksumInAPng) {
  const std::size_t data = find("written_by_pillow.png", "IDAT") + 20;
  expect_error(patched("written_by_pillow.png", data, "\x55\xAA\x55"), ErrorKind::bad_input, "PNG");
  const std::size_t end = golden_file("written_by_pillow.png").size() - 1;
  expect_error(patched("written_by_pillow.png", end, "\x01"), ErrorKind::bad_input, "CRC");
}

TEST(DecodeErrors, RefuseADamagedWebp) {
  expect_error(patched("lossy.webp", 30, "\xFF\xFF\xFF\xFF\xFF\xFF"), ErrorKind::bad_input, "WebP");
}

TEST(DecodeErrors, RefuseExifThatIsNotTiffWhereItIsAsked) {
  const std::size_t exif = find("orientation_6.jpg", std::string_view("Exif\0\0", 6)) + 6;
  const auto file = patched("orientation_6.jpg", exif, "ZZ");
  EXPECT_NO_THROW(decode(file, "the file"));
  expect_error(file, ErrorKind::bad_input, "EXIF", {.apply_exif_rotation = true});
}

}  // namespace
}  // namespace assay::image
