#pragma once
/// Counts what operator new gives out, on the calling thread. It replaces the global operators:
/// include it in exactly one source of a test program.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace assay::test {

struct Allocations {
  std::size_t count = 0;
  std::size_t bytes = 0;    ///< in all
  std::size_t largest = 0;  ///< single request
};
inline thread_local Allocations allocations;

inline void* counted_allocation(std::size_t size, std::size_t alignment) {
  ++allocations.count;
  allocations.bytes += size;
  allocations.largest = std::max(allocations.largest, size);
  const std::size_t rounded =
      (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace assay::test

[[gnu::noinline]] void* operator new(std::size_t size) {
  return assay::test::counted_allocation(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return assay::test::counted_allocation(size, static_cast<std::size_t>(alignment));
}
// A sanitizer's own would not go with the operator delete below.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
