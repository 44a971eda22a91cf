/// Hand-written TOML: what is read, and what every complaint names.
#include "base/toml.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace assay {
namespace {

template <typename Function>
std::string refusal(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "";
}

TomlTable parse(const char* text) { return TomlTable::parse(text, "x.toml"); }

TEST(Toml, ReadsEveryType) {
  const TomlTable table = parse(
      "name = \"x\"\non = true\nratio = 2\nsome = [\"a\", \"b\"]\nsizes = [1, 8]\n"
      "[inner]\ncount = 3\n[[rule]]\nname = 'first'\n[[rule]]\nname = 'second'\n");
  EXPECT_EQ(table.text("name"), "x");
  EXPECT_TRUE(table.boolean("on"));
  EXPECT_EQ(table.number("ratio", 0, 10), 2.0);
  EXPECT_THAT(table.texts("some"), testing::ElementsAre("a", "b"));
  EXPECT_THAT(table.integers("sizes", 1, 8), testing::ElementsAre(1, 8));
  EXPECT_EQ(table.table("inner").integer("count", 0, 3), 3);
  ASSERT_EQ(table.tables("rule").size(), 2U);
  EXPECT_EQ(table.tables("rule")[1].text("name"), "second");
  EXPECT_TRUE(table.tables("none").empty());
  EXPECT_FALSE(table.has("none"));
  table.finish();
}

TEST(Toml, NamesFileLineKeyAndWhatWasFound) {
  const TomlTable table = parse("\nname = 7\n[inner]\ncount = 3.5\nlist = [1, \"a\"]\n");
  EXPECT_EQ(refusal([&] { (void)table.text("name"); }), "x.toml:2: name is 7, expected a string");
  EXPECT_EQ(refusal([&] { (void)table.table("inner").integer("count", 0, 9); }),
            "x.toml:4: inner.count is 3.5, expected a whole number in 0 ... 9");
  EXPECT_EQ(refusal([&] { (void)table.table("inner").number("count", 0, 1); }),
            "x.toml:4: inner.count is 3.5, expected a number in 0 ... 1");
  EXPECT_THAT(refusal([&] { (void)table.table("inner").texts("list"); }),
              testing::StartsWith("x.toml:5: inner.list is [ 1, "));
  EXPECT_EQ(refusal([&] { (void)table.table("inner").text("gone"); }),
            "x.toml:3: inner.gone is missing, expected a string");
  EXPECT_THAT(refusal([&] { (void)table.tables("inner"); }),
              testing::HasSubstr("inner is a table, expected tables"));
  EXPECT_THAT(refusal([&] { (void)parse("a = nan").number("a", 0, 1); }),
              testing::HasSubstr("a is nan"));
}

TEST(Toml, RefusesKeysThatNothingAskedFor) {
  const TomlTable table = parse("a = 1\nb = 2\n");
  (void)table.integer("a", 0, 1);
  EXPECT_EQ(refusal([&] { table.finish(); }), "x.toml:2: b is not a key; known are: a");
}

TEST(Toml, NamesKnownKeysThatAreNotThere) {
  const TomlTable table = parse("a = 1\nb = 2\n");
  (void)table.integer("a", 0, 1);
  EXPECT_FALSE(table.has("c"));
  EXPECT_EQ(refusal([&] { table.finish(); }), "x.toml:2: b is not a key; known are: a, c");
  EXPECT_TRUE(table.has("b")) << "asked for, not read";
  EXPECT_THAT(refusal([&] { table.finish(); }), testing::StartsWith("x.toml:2: b is not a key"));
}

TEST(Toml, RefusesZeroBytes) {
  EXPECT_EQ(refusal([] { (void)parse("a = \"x\\u0000y\"").text("a"); }), "x.toml:1: a has \\u0000");
  EXPECT_EQ(refusal([] { (void)parse("a = [\"\\u0000\"]").texts("a"); }),
            "x.toml:1: a has \\u0000");
}

TEST(Toml, RefusesWhatIsNoToml) {
  EXPECT_THAT(refusal([] { parse("a = 1\na = 2\n"); }), testing::StartsWith("x.toml:2: not TOML"));
  EXPECT_THAT(refusal([] { parse("a = \n"); }), testing::StartsWith("x.toml:1: not TOML"));
  EXPECT_THAT(refusal([] { parse(std::string(100'000, '[').c_str()); }),
              testing::StartsWith("x.toml: not TOML: a bracket"));
  EXPECT_THAT(refusal([] { parse(("a = " + std::string(100'000, '[')).c_str()); }),
              testing::StartsWith("x.toml:1: not TOML"));
  EXPECT_THAT(refusal([] { parse(std::string(2'000'000, ' ').c_str()); }),
              testing::HasSubstr("the limit is"));
}

TEST(Toml, QuotesWhatItReadsBack) {
  const std::string text = "a \"quoted\" \\ line\nand a tab\t";
  EXPECT_EQ(parse(("x = " + toml_quote(text)).c_str()).text("x"), text);
}

}  // namespace
}  // namespace assay
