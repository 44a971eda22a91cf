#pragma once
/// A plan's constants, gathered on the host and then copied to the device at once.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::backend::cuda {

/// Where among the constants something is kept; a negative offset: nowhere.
struct Kept {
  std::int64_t offset = -1;  ///< in bytes
};

class ConstantPool {
 public:
  Kept keep(std::span<const std::byte> bytes) {
    constexpr std::size_t kAlignment = 256;
    const std::size_t offset = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(offset);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {static_cast<std::int64_t>(offset)};
  }
  /// Keeps nothing where there are no numbers.
  Kept keep(std::span<const float> numbers) {
    return numbers.empty() ? Kept{} : keep(std::as_bytes(numbers));
  }
  Kept keep(std::span<const std::int32_t> numbers) { return keep(std::as_bytes(numbers)); }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace assay::backend::cuda
