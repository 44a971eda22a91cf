#pragma once
/// Sessions of one plan, handed to one caller at a time.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/backend.h"

namespace assay::pipeline {

/// Makes sessions as concurrent callers need them, `bound` at most; further callers wait for one to
/// come back. Thread-safe. Once a session exists, taking and returning it allocates nothing. The
/// plan must outlive the pool, and the pool its leases.
class SessionPool {
 public:
  SessionPool(const backend::Plan& plan, int bound);
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;

  /// A session and its scratch memory.
  struct Slot {
    std::unique_ptr<backend::Session> session;
    std::vector<float> scratch;
  };

  /// A slot held until destruction.
  class Lease {
   public:
    Lease(SessionPool& pool, Slot& slot) : pool_(pool), slot_(slot) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give_back(slot_); }
    [[nodiscard]] backend::Session& session() const { return *slot_.session; }
    /// Memory that stays with the session between calls.
    [[nodiscard]] std::vector<float>& scratch() const { return slot_.scratch; }

   private:
    SessionPool& pool_;
    Slot& slot_;
  };

  /// Waits for a session where `bound` are in use.
  [[nodiscard]] Lease take();
  /// Sessions made so far.
  [[nodiscard]] int made() const;

 private:
  Slot& take_slot();
  void give_back(Slot& slot) noexcept;

  const backend::Plan& plan_;
  const std::size_t bound_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::size_t being_made_ = 0;
};

}  // namespace assay::pipeline
