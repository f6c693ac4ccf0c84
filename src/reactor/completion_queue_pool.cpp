// reactor/completion_queue_pool.cpp - lanes without a stream, and all lanes there are.
#include "reactor/completion_queue.hpp"
#include "reactor/reactor.hpp"

#include <atomic>
#include <mutex>
#include <new>

namespace weir::detail {
namespace {

constinit std::mutex pool_lock;
constinit std::atomic<completion_queue*> newest{nullptr};
constinit std::atomic<completion_queue*> next_candidate{nullptr};

completion_queue* take_spare(reactor& owner) noexcept {
  const std::lock_guard hold{pool_lock};
  completion_queue* const taken = owner.spare_queues;
  if (taken != nullptr) owner.spare_queues = taken->next;
  return taken;
}

// Before more are made some of those there are, in turn, are asked whether they are abandoned and
// could be had.
void poll_abandoned() noexcept {
  constexpr int candidates = 8;
  for (int i = 0; i < candidates; ++i) {
    completion_queue* candidate = next_candidate.load(std::memory_order_acquire);
    if (candidate == nullptr) candidate = newest.load(std::memory_order_acquire);
    if (candidate == nullptr) return;
    next_candidate.store(candidate->older(), std::memory_order_release);
    candidate->poll_if_abandoned();
  }
}

}  // namespace

completion_queue& acquire_queue(const queue_key& key) {
  reactor& owner = reactor::for_device(key.device);
  completion_queue* taken = take_spare(owner);
  if (taken == nullptr) {
    poll_abandoned();
    taken = take_spare(owner);
  }
  if (taken == nullptr) {
    taken = new completion_queue{owner};
    taken->older_ = newest.load(std::memory_order_relaxed);
    while (!newest.compare_exchange_weak(taken->older_, taken, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
  }
  taken->attach(key);
  return *taken;
}

void release_queue(completion_queue& idle) noexcept {
  const std::lock_guard hold{pool_lock};
  completion_queue*& spare_list = idle.owner().spare_queues;
  idle.next = spare_list;
  spare_list = &idle;
}

completion_queue* newest_queue() noexcept { return newest.load(std::memory_order_acquire); }

}  // namespace weir::detail
