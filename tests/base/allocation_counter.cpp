#include "base/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

// In a file of its own: inlined into its users, the compiler takes the pair for a mismatch.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<std::size_t> count{0};
}  // namespace

void* operator new(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace assay::testing_support {
std::optional<std::size_t> allocations() { return count.load(); }
}  // namespace assay::testing_support

#else

namespace assay::testing_support {
std::optional<std::size_t> allocations() { return std::nullopt; }
}  // namespace assay::testing_support

#endif
