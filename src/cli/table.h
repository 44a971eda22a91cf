#pragma once
/// Columns for people.
#include <string>
#include <vector>

namespace assay::cli {

class Console;

/// Rows of cells, printed with columns of one width each and two spaces between. A column whose
/// header begins with '>' (which is not printed) is aligned to the right.
class Table {
 public:
  /// Without a header: every column to the left, no header row.
  Table() = default;
  explicit Table(std::vector<std::string> header);
  void row(std::vector<std::string> cells);
  void print(Console& console) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// "12.3 MB": decimal units.
std::string bytes_text(double bytes);

}  // namespace assay::cli
