#include "cli/output_file.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/cli.h"

namespace assay::cli {

void check_output(const std::string& output, std::span<const std::filesystem::path> inputs) {
  if (output == "-") {
    throw UsageError("-o -: cannot write to standard output; expected a file name");
  }
  for (const std::filesystem::path& input : inputs) {
    std::error_code absent;  // what is not there cannot be overwritten
    if (std::filesystem::equivalent(output, input, absent)) {
      fail(ErrorKind::bad_input, "-o {}: is the input {}; name another file to write", output,
           input.string());
    }
  }
  // What can't be written is refused now, not after minutes of work: nothing is left behind.
  const AtomicFile probe(output);
}

}  // namespace assay::cli
