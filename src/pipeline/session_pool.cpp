#include "pipeline/session_pool.h"

namespace assay::pipeline {

SessionPool::SessionPool(const backend::Plan& plan, int bound)
    : plan_(plan), bound_(static_cast<std::size_t>(bound)) {
  slots_.reserve(bound_);
  free_.reserve(bound_);
}

SessionPool::Lease SessionPool::take() { return {*this, take_slot()}; }

int SessionPool::made() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(slots_.size());
}

SessionPool::Slot& SessionPool::take_slot() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !free_.empty() || slots_.size() + being_made_ < bound_; });
  if (!free_.empty()) {
    Slot& slot = *free_.back();
    free_.pop_back();
    return slot;
  }
  // Making a session touches all of its memory: not under the lock.
  ++being_made_;
  lock.unlock();
  std::unique_ptr<Slot> slot;
  try {
    slot = std::make_unique<Slot>();
    slot->session = plan_.make_session();
  } catch (...) {
    lock.lock();
    --being_made_;
    lock.unlock();
    returned_.notify_one();
    throw;
  }
  lock.lock();
  --being_made_;
  slots_.push_back(std::move(slot));
  return *slots_.back();
}

void SessionPool::give_back(Slot& slot) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(&slot);
  }
  returned_.notify_one();
}

}  // namespace assay::pipeline
