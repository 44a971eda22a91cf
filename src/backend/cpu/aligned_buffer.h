#pragma once
/// Memory for packed weights and activations: aligned to cache lines, owned, never resized.
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace assay::backend::cpu {

/// Alignment of every buffer, in bytes: one cache line, one AVX-512 register.
inline constexpr std::size_t kAlignment = 64;

/// `count` rounded up to whole cache lines of floats.
constexpr std::size_t round_up_to_line(std::size_t count) {
  constexpr std::size_t kFloats = kAlignment / sizeof(float);
  return (count + kFloats - 1) / kFloats * kFloats;
}

/// A fixed block of zeroed floats. Movable, not copyable.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// Throws std::bad_alloc.
  explicit AlignedBuffer(std::size_t count);

  [[nodiscard]] float* data() { return data_.get(); }
  [[nodiscard]] const float* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<float[], Free> data_;
  std::size_t size_ = 0;
};

/// Hands out pieces of a few large buffers: a plan's constants, in the order in which it reads
/// them. They stay where they are as long as the pool.
class ConstantPool {
 public:
  /// `count` zeroed floats, aligned to kAlignment.
  float* allocate(std::size_t count);

 private:
  std::vector<AlignedBuffer> buffers_;
  std::size_t used_ = 0;  ///< of the last buffer
};

}  // namespace assay::backend::cpu
