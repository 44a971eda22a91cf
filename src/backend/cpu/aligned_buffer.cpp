#include "backend/cpu/aligned_buffer.h"

#include <algorithm>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace assay::backend::cpu {

AlignedBuffer::AlignedBuffer(std::size_t count) : size_(round_up_to_line(count)) {
  // Large blocks are aligned and rounded to 2 MiB and advised to use huge pages: a network streams
  // all of its weights once an image, and 4 KiB pages cost a TLB miss and a prefetcher restart
  // each.
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  std::size_t bytes = std::max(size_, kAlignment / sizeof(float)) * sizeof(float);
  const bool large = bytes >= kHugePage / 2;
  const std::size_t alignment = large ? kHugePage : kAlignment;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<float*>(std::aligned_alloc(alignment, bytes)));
  if (!data_) throw std::bad_alloc();
#ifdef __linux__
  if (large) madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
  std::fill_n(data_.get(), size_, 0.0F);
}

}  // namespace assay::backend::cpu
