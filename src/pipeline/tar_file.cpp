#include "pipeline/tar_file.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <new>

#include "base/error.h"
#include "base/file.h"
#include "pipeline/gzip.h"

namespace assay::pipeline {
namespace {

constexpr std::size_t kBlock = 512;

void check_end(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  if (is_gzip(bytes)) return;
  if (bytes.size() % kBlock != 0 || bytes.size() < 2 * kBlock ||
      !std::ranges::all_of(bytes.last(2 * kBlock), [](std::byte b) { return b == std::byte{0}; }))
    fail(ErrorKind::corrupt,
         "{}: truncated: {} bytes that do not end as a tar file does (two blocks of zeros)",
         path.string(), bytes.size());
}

}  // namespace

void TarFile::Free::operator()(archive* handle) const { archive_read_free(handle); }

TarFile::TarFile(const std::filesystem::path& path) : path_(path), archive_(archive_read_new()) {
  check_end(path);
  if (!archive_) throw std::bad_alloc();
  archive_read_support_format_tar(archive_.get());
  archive_read_support_filter_gzip(archive_.get());
  if (archive_read_open_filename(archive_.get(), path.c_str(), 1 << 16) != ARCHIVE_OK) damaged();
}

void TarFile::damaged() {
  const char* reason = archive_error_string(archive_.get());
  fail(ErrorKind::corrupt, "{}{}{}: damaged tar file ({})", path_.string(),
       entry_name_.empty() ? "" : " at ", entry_name_, reason != nullptr ? reason : "no reason");
}

std::optional<std::string> TarFile::next() {
  while (true) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) return std::nullopt;
    // A warning is about a name in another character set than the locale's: names are bytes here.
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) damaged();
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    const char* name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) name = archive_entry_pathname(entry);
    if (name == nullptr) damaged();
    entry_name_ = name;
    return entry_name_;
  }
}

std::vector<std::byte> TarFile::read(std::uint64_t limit) {
  std::vector<std::byte> content;
  std::array<std::byte, 1 << 16> buffer;
  while (true) {
    const la_ssize_t got = archive_read_data(archive_.get(), buffer.data(), buffer.size());
    if (got < 0) damaged();
    if (got == 0) return content;
    if (static_cast<std::uint64_t>(got) > limit - content.size())
      fail(ErrorKind::bad_input, "{}: entry {} has more than {} bytes", path_.string(), entry_name_,
           limit);
    content.insert(content.end(), buffer.begin(), buffer.begin() + got);
  }
}

}  // namespace assay::pipeline
