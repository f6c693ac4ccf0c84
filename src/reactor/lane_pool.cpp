// reactor/lane_pool.cpp - lanes without a stream, and all lanes there are.
#include "reactor/lane.hpp"
#include "reactor/reactor.hpp"

#include <atomic>
#include <mutex>
#include <new>

namespace weir::detail {
namespace {

constinit std::mutex pool_lock;
constinit lane* pooled = nullptr;  // under the lock
constinit std::atomic<lane*> newest{nullptr};

}  // namespace

lane& acquire_lane(const lane_place& where) {
  reactor& home = reactor::of(where.device);
  lane* taken = nullptr;
  {
    const std::lock_guard hold{pool_lock};
    if (pooled != nullptr) {
      taken = pooled;
      pooled = taken->next;
    }
  }
  if (taken == nullptr) {
    taken = new lane;
    taken->older_ = newest.load(std::memory_order_relaxed);
    while (!newest.compare_exchange_weak(taken->older_, taken, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  taken->attach(where, home);
  return *taken;
}

void give_back_lane(lane& idle) noexcept {
  const std::lock_guard hold{pool_lock};
  idle.next = pooled;
  pooled = &idle;
}

lane* newest_lane() noexcept { return newest.load(std::memory_order_acquire); }

}  // namespace weir::detail
