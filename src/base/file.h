#pragma once
/// Files: mapped for reading, or written to a temporary name, synced and renamed.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace assay {

/// A file mapped read-only. Share it to keep the bytes alive; the mapping ends with the last owner.
class MappedFile {
 public:
  /// Maps `path`. Throws not_found or bad_input (not a regular file); an empty file maps to no
  /// bytes.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes);
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

/// Reads a whole file of at most `limit` bytes. Throws not_found, or bad_input where it is larger.
std::vector<std::byte> read_file(const std::filesystem::path& path, std::uint64_t limit);

/// The same as text; no encoding is checked.
std::string read_text(const std::filesystem::path& path, std::uint64_t limit);

/// Writes into a nameless file in the folder of `path` (a named temporary where the file system has
/// none); commit() syncs it and renames it over `path`, whose permissions stay. Destroyed without
/// commit(), or with the process killed, it leaves nothing: nothing half-written is ever seen. A
/// link is followed; a folder, device, pipe or socket is refused (bad_input). Implemented in
/// atomic_file.cpp.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// Appends; throws bad_input with the system's reason (disk full, permission).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// The whole file at once. Throws as AtomicFile.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace assay
