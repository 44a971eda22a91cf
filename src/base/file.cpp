#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace assay {
namespace {

std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

/// An open descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

struct OpenFile {
  Descriptor descriptor;
  std::uint64_t size;
};

/// Opens a regular file. Not blocking, so that a FIFO is refused instead of waited for.
OpenFile open_regular(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const int error = errno;
    const bool absent = error == ENOENT || error == ENOTDIR;
    fail(absent ? ErrorKind::not_found : ErrorKind::bad_input, "{}: cannot open: {}", path.string(),
         reason(error));
  }
  struct stat status {};
  const int rc = ::fstat(descriptor, &status);
  OpenFile file{Descriptor(descriptor), static_cast<std::uint64_t>(status.st_size)};
  if (rc != 0) fail(ErrorKind::bad_input, "{}: cannot stat: {}", path.string(), reason(errno));
  if (S_ISDIR(status.st_mode)) {
    fail(ErrorKind::bad_input, "{}: is a folder, expected a file", path.string());
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorKind::bad_input, "{}: is not a regular file", path.string());
  }
  return file;
}

/// Fills `data` from the file; the file must hold exactly that many bytes.
void read_exactly(const Descriptor& descriptor, const std::filesystem::path& path, char* data,
                  std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(descriptor.get(), data + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::bad_input, "{}: cannot read: {}", path.string(), reason(errno));
    if (got == 0) {
      fail(ErrorKind::bad_input, "{}: ended after {} bytes, expected {}", path.string(), done,
           size);
    }
    done += static_cast<std::size_t>(got);
  }
}

template <typename Container>
Container read_whole(const std::filesystem::path& path, std::uint64_t limit) {
  const OpenFile file = open_regular(path);
  if (file.size > limit) {
    fail(ErrorKind::bad_input, "{}: has {} bytes, at most {} are accepted", path.string(),
         file.size, limit);
  }
  Container content;
  content.resize(static_cast<std::size_t>(file.size));
  read_exactly(file.descriptor, path, reinterpret_cast<char*>(content.data()), content.size());
  return content;
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes) {}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const OpenFile file = open_regular(path);
  // The owner comes first, so that no mapping can be left behind by a failed allocation.
  std::shared_ptr<MappedFile> mapped(new MappedFile(path, {}));
  if (file.size == 0) return mapped;
  const auto size = static_cast<std::size_t>(file.size);
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor.get(), 0);
  if (data == MAP_FAILED) {
    fail(ErrorKind::out_of_memory, "{}: cannot map {} bytes: {}", path.string(), size,
         reason(errno));
  }
  mapped->bytes_ = {static_cast<const std::byte*>(data), size};
  return mapped;
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  // munmap takes a non-const pointer though it writes nothing.
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::vector<std::byte> read_file(const std::filesystem::path& path, std::uint64_t limit) {
  return read_whole<std::vector<std::byte>>(path, limit);
}

std::string read_text(const std::filesystem::path& path, std::uint64_t limit) {
  return read_whole<std::string>(path, limit);
}

}  // namespace assay
