#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace assay {
namespace {

std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

constexpr mode_t kNewFileMode = 0666;

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// Where to write so that `path` has the content: a link's target rather than the link. Refuses
/// what a rename would destroy: folders, devices, pipes and sockets.
std::filesystem::path writable_place(const std::filesystem::path& path) {
  if (!path.has_filename()) {
    fail(ErrorKind::bad_input, "'{}': expected a file name to write", path.string());
  }
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) {
    fail(ErrorKind::bad_input, "{}: is a folder, expected a file name to write", path.string());
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail(ErrorKind::bad_input,
         "{}: is a device, a pipe or a socket; expected a new name or an ordinary file",
         path.string());
  }
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) return path;
  const auto target = std::filesystem::weakly_canonical(path, error);
  if (error)
    fail(ErrorKind::bad_input, "{}: cannot follow the link: {}", path.string(), error.message());
  return target;
}

/// A name of its own beside the file, short because the file's own may be as long as names can be.
std::filesystem::path temporary_name(const std::filesystem::path& folder) {
  static std::atomic<unsigned> counter{0};
  return folder / fmt::format(".assay-{}-{}.tmp", ::getpid(), counter.fetch_add(1));
}

/// A file that is replaced keeps its permissions.
void keep_mode(int descriptor, const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) ::fchmod(descriptor, status.st_mode & 07777);
}

/// Links the nameless file `descriptor` under a temporary name beside `path`.
std::filesystem::path give_name(int descriptor, const std::filesystem::path& path) {
  const std::string self = fmt::format("/proc/self/fd/{}", descriptor);
  std::filesystem::path name;
  int result = 0;
  do {
    name = temporary_name(folder_of(path));
    result = ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  } while (result != 0 && errno == EEXIST);
  if (result != 0) {
    fail(ErrorKind::bad_input, "{}: cannot write: {}", path.string(), reason(errno));
  }
  return name;
}

/// Makes the rename itself durable. Not every file system can sync a folder: that is no error.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(writable_place(path)) {
  const std::filesystem::path folder = folder_of(path_);
  // A file without a name is gone whatever ends the process. Not every file system has them.
  descriptor_ = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, kNewFileMode);
  if (descriptor_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    do {
      temporary_ = temporary_name(folder);
      descriptor_ =
          ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
    } while (descriptor_ < 0 && errno == EEXIST);
  }
  if (descriptor_ < 0) {
    fail(ErrorKind::bad_input, "{}: cannot write: {}", path_.string(), reason(errno));
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) {
    fail(ErrorKind::internal, "{}: written to after commit", path_.string());
  }
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      fail(ErrorKind::bad_input, "{}: cannot write: {}", path_.string(), reason(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  if (descriptor_ < 0) fail(ErrorKind::internal, "{}: committed twice", path_.string());
  if (::fsync(descriptor_) != 0) {
    fail(ErrorKind::bad_input, "{}: cannot write to disk: {}", path_.string(), reason(errno));
  }
  keep_mode(descriptor_, path_);
  if (temporary_.empty()) temporary_ = give_name(descriptor_, path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail(ErrorKind::bad_input, "{}: cannot rename the finished file: {}", path_.string(),
         reason(errno));
  }
  ::close(std::exchange(descriptor_, -1));
  sync_folder(folder_of(path_));
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace assay
