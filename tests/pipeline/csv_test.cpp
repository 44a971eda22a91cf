#include "pipeline/csv.h"

#include <gmock/gmock.h>

#include "pipeline/files.h"

namespace assay::pipeline {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows parse(std::string_view text) {
  Rows rows;
  for (const CsvRow& row : parse_csv(text, "x.csv")) rows.push_back(row.fields);
  return rows;
}

TEST(Csv, ReadsFieldsAndLineEnds) {
  EXPECT_EQ(parse("a,b\r\nc,\n\n,d"), (Rows{{"a", "b"}, {"c", ""}, {"", "d"}}));
  EXPECT_EQ(parse("\xef\xbb\xbf"
                  "a,b\n"),
            (Rows{{"a", "b"}}));
  EXPECT_EQ(parse(""), Rows{});
}

TEST(Csv, ReadsQuotes) { EXPECT_EQ(parse("\"a,\"\"b\"\"\n\",c\n"), (Rows{{"a,\"b\"\n", "c"}})); }

TEST(Csv, KnowsTheLineWhereARowBegins) {
  const auto rows = parse_csv("a\n\n\"b\nc\"\nd\n", "x.csv");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].line, 3u);
  EXPECT_EQ(rows[2].line, 5u);
}

TEST(Csv, MisplacedQuotesAreNamedWithTheirLine) {
  for (const char* text : {"a\nb\"c\n", "a\n\"b", "a\n\"b\"c\n"}) {
    const auto outcome = test::outcome_of([&] { (void)parse_csv(text, "x.csv"); });
    EXPECT_EQ(outcome.kind, ErrorKind::bad_input) << text;
    EXPECT_TRUE(outcome.message.starts_with("x.csv, line 2: ")) << outcome.message;
  }
}

}  // namespace
}  // namespace assay::pipeline
