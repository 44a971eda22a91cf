#include "cli/npy.h"

#include <fmt/format.h>

namespace assay::cli {

std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  // A Python tuple: of one element only with a comma behind it.
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t kPreamble = 10;  // magic, version, and the dictionary's 16-bit length
  constexpr std::size_t kAlignment = 64;
  while ((kPreamble + dictionary.size() + 1) % kAlignment != 0) dictionary += ' ';
  dictionary += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dictionary.size() & 0xff);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

}  // namespace assay::cli
