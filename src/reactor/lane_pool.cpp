// reactor/lane_pool.cpp - lanes without a stream, and all lanes there are.
#include "reactor/lane.hpp"
#include "reactor/reactor.hpp"

#include <atomic>
#include <mutex>
#include <new>

namespace weir::detail {
namespace {

constinit std::mutex pool_lock;
constinit std::atomic<lane*> newest{nullptr};
constinit std::atomic<lane*> looked_at{nullptr};

lane* take_spare(reactor& of) noexcept {
  const std::lock_guard hold{pool_lock};
  lane* const taken = of.spare_lanes;
  if (taken != nullptr) of.spare_lanes = taken->next;
  return taken;
}

// Before more are made some of those there are, in turn, are asked whether they are abandoned and could be had.
void look_for_abandoned() noexcept {
  constexpr int some = 8;
  for (int i = 0; i < some; ++i) {
    lane* one = looked_at.load(std::memory_order_acquire);
    if (one == nullptr) one = newest.load(std::memory_order_acquire);
    if (one == nullptr) return;
    looked_at.store(one->older(), std::memory_order_release);
    one->ask_if_abandoned();
  }
}

}  // namespace

lane& acquire_lane(const lane_place& where) {
  reactor& home = reactor::of(where.device);
  lane* taken = take_spare(home);
  if (taken == nullptr) {
    look_for_abandoned();
    taken = take_spare(home);
  }
  if (taken == nullptr) {
    taken = new lane{home};
    taken->older_ = newest.load(std::memory_order_relaxed);
    while (!newest.compare_exchange_weak(taken->older_, taken, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  taken->attach(where);
  return *taken;
}

void give_back_lane(lane& idle) noexcept {
  const std::lock_guard hold{pool_lock};
  lane*& spare = idle.home().spare_lanes;
  idle.next = spare;
  spare = &idle;
}

lane* newest_lane() noexcept { return newest.load(std::memory_order_acquire); }

}  // namespace weir::detail
