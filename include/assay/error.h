#pragma once
/// Errors as the library throws them. The C ABI turns them into a status and keeps the message.
#include <stdexcept>
#include <string>

namespace assay {

/// What kind of thing went wrong; the program's exit code follows from it.
enum class ErrorKind {
  bad_input,      ///< the caller's data or arguments are wrong (exit 3)
  unsupported,    ///< well-formed, but not something this build can do (exit 4)
  not_found,      ///< a file, tensor or name does not exist (exit 3)
  corrupt,        ///< stored data contradicts itself or its checksum (exit 3)
  out_of_memory,  ///< an allocation failed or was refused (exit 1)
  internal,       ///< a defect of Assay itself (exit 1)
};

/// The one exception type of the library. The message names the file, tensor or layer, what was
/// found, what was expected, and where it helps, what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace assay
