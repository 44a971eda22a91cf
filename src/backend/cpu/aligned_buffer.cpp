#include "backend/cpu/aligned_buffer.h"

#include <algorithm>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace assay::backend::cpu {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t count) : size_(round_up_to_line(count)) {
  // Large blocks are aligned and rounded to 2 MiB and advised to use huge pages: a network streams
  // all of its weights once an image, and 4 KiB pages cost a TLB miss and a prefetcher restart
  // each.
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

float* ConstantPool::allocate(std::size_t count) {
  const std::size_t size = std::max(round_up_to_line(count), round_up_to_line(1));
  if (buffers_.empty() || buffers_.back().size() - used_ < size) {
    buffers_.emplace_back(std::max(size, 2 * kHugePage / sizeof(float)));
    used_ = 0;
  }
  float* const piece = buffers_.back().data() + used_;
  used_ += size;
  return piece;
}

}  // namespace assay::backend::cpu
