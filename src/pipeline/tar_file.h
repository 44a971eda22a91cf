#pragma once
/// One tar file, entry by entry.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct archive;

namespace assay::pipeline {

/// Reads a tar file (ustar, pax or GNU, perhaps gzipped) from front to back. Throws corrupt, naming
/// the file, where it is damaged; an uncompressed one must end with the two zero blocks that POSIX
/// asks for, as a file cut between two entries can't be told otherwise.
class TarFile {
 public:
  explicit TarFile(const std::filesystem::path& path);

  /// Goes to the next regular file; its name, or nothing at the end.
  std::optional<std::string> next();
  /// The current file's bytes. Throws bad_input where there are more than `limit`.
  std::vector<std::byte> read(std::uint64_t limit);
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] void damaged();
  struct Free {
    void operator()(archive* handle) const;
  };
  std::filesystem::path path_;
  std::string entry_name_;
  std::unique_ptr<archive, Free> archive_;
};

}  // namespace assay::pipeline
