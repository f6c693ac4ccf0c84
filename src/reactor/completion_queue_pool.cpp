// SPDX-License-Identifier: Apache-2.0
// reactor/completion_queue_pool.cpp - hands out and takes back completion queues.
#include "reactor/completion_queue_pool.hpp"

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
  completion_queue* const spare = owner.spare_queues;
  if (spare != nullptr) owner.spare_queues = spare->next;
  return spare;
}

// Polls the next eight of all existing queues. Called before a new queue is created. A queue whose
// stream was destroyed returns to the pool only when a thread finds that its last point has
// completed.
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
  completion_queue* spare = take_spare(owner);
  if (spare == nullptr) {
    poll_abandoned();
    spare = take_spare(owner);
  }
  if (spare == nullptr) {
    spare = new completion_queue{owner};
    spare->older_ = newest.load(std::memory_order_relaxed);
    while (!newest.compare_exchange_weak(spare->older_, spare, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    }
  }
  spare->attach(key);
  return *spare;
}

void release_queue(completion_queue& idle) noexcept {
  const std::lock_guard hold{pool_lock};
  completion_queue*& spare_list = idle.owner().spare_queues;
  idle.next = spare_list;
  spare_list = &idle;
}

completion_queue* newest_queue() noexcept { return newest.load(std::memory_order_acquire); }

}  // namespace weir::detail
