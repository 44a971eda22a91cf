#include "cli/cli.h"

namespace assay::cli {

ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input:
    case ErrorKind::not_found:
    case ErrorKind::corrupt:
      return kBadInput;
    case ErrorKind::unsupported:
      return kUnsupported;
    case ErrorKind::out_of_memory:
    case ErrorKind::internal:
      return kFailed;
  }
  return kFailed;
}

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input:
      return "bad_input";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::corrupt:
      return "corrupt";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
    case ErrorKind::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace assay::cli
