#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "assay/error.h"

namespace assay {
namespace {

/// The message with which `text` is refused.
std::string refusal(std::string_view text, int max_depth = 64) {
  try {
    parse_json(text, "some.json", max_depth);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  ADD_FAILURE() << "was accepted: " << text.substr(0, 100);
  return "";
}

TEST(ParseJson, KeepsValuesAndTheOrderOfKeys) {
  const Json json = parse_json(
      R"({"z": [1, -2, 2.5, "é\n"], "a": {"t": true, "n": null}, "m": {}})", "some.json");
  EXPECT_EQ(json.dump(), R"({"z":[1,-2,2.5,"é\n"],"a":{"t":true,"n":null},"m":{}})");
  EXPECT_TRUE(json["z"][0].is_number_unsigned());
  EXPECT_EQ(parse_json(" 7 ", "x"), Json(7));
}

TEST(ParseJson, RefusesWhatIsNoJsonWithPlaceAndSource) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "nul", "01", "+1", "1.",
                           "NaN", "Infinity", "'a'", "\"a", "\"\t\"", "\"\\x\"", "{a:1}"}) {
    EXPECT_TRUE(refusal(text).starts_with("some.json: is not valid JSON at byte ")) << text;
  }
  EXPECT_NE(refusal("[1, 2, x]").find("at byte 8"), std::string::npos) << refusal("[1, 2, x]");
}

TEST(ParseJson, RefusesCommentsTrailingBytesAndMarks) {
  refusal("/* c */ 1");
  refusal("1 // c");
  refusal("{} {}");
  refusal("\xEF\xBB\xBF{}");
  refusal(std::string_view("{}\0", 3));
  refusal(std::string_view("\"a\0b\"", 5));
}

TEST(ParseJson, RefusesDuplicateKeysAtEveryLevel) {
  EXPECT_NE(refusal(R"({"a":1,"b":2,"a":3})").find("\"a\" twice"), std::string::npos);
  refusal(R"([{"x":{"k":1,"k":1}}])");
  refusal(R"({"a":1,"\u0061":2})");
  EXPECT_NO_THROW(parse_json(R"([{"a":{"a":1}},{"a":2}])", "x"));
}

TEST(ParseJson, RefusesWhatIsNotUtf8) {
  for (const char* text : {"\"\xFF\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"",
                           "\"\xE2\x82\"", "\"\\ud800\"", "{\"\x80\":1}"}) {
    const std::string message = refusal(text);
    EXPECT_EQ(message.find_first_not_of(" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWX"
                                        "YZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"),
              std::string::npos)
        << "the message repeats the bad bytes";
  }
}

TEST(ParseJson, LimitsDepthWithoutRecursion) {
  EXPECT_NO_THROW(parse_json("[[{\"a\":1}]]", "x", 3));
  EXPECT_NE(refusal("[[[[1]]]]", 3).find("deeper than 3"), std::string::npos);
  refusal(std::string(1'000'000, '['));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  refusal(objects);
}

// Slow under a sanitizer.
TEST(ParseJsonSlow, BoundsTheNumberOfValues) {
  std::string many = "[0";
  for (int i = 0; i < 4'000'000; ++i) many += ",0";
  EXPECT_NE(refusal(many + "]").find("more than"), std::string::npos);
}

TEST(ParseJson, HugeNumbersKeepTheirSizeOrAreRefused) {
  EXPECT_EQ(parse_json("18446744073709551615", "x").get<std::uint64_t>(), 18446744073709551615U);
  EXPECT_EQ(parse_json("-9223372036854775808", "x").get<std::int64_t>(), INT64_MIN);
  EXPECT_TRUE(parse_json("18446744073709551616", "x").is_number_float());
  EXPECT_TRUE(parse_json("1e-999", "x").is_number_float());
  refusal("1e999");
  EXPECT_LT(refusal("[" + std::string(100'000, '9') + "]").size(), 400U);
}

TEST(ParseJson, MessagesAreShortHoweverLongTheInput) {
  const std::string key(100'000, 'k');
  EXPECT_LT(refusal("{\"" + key + "\":1,\"" + key + "\":2}").size(), 400U);
  EXPECT_LT(refusal("\"" + key).size(), 400U);
}

TEST(ParseJsonSlow, ManyKeysTakeLinearTime) {
  std::string text = "{\"k\":0";
  for (int i = 0; i < 100'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  EXPECT_EQ(parse_json(text + "}", "x").size(), 100'001U);
}

}  // namespace
}  // namespace assay
