// engine/joint_work.cpp - offering work, and waiting for those who came.
#include "embedded/engine/joint_work.hpp"

#include <mutex>

#include "embedded/engine/futex.hpp"

namespace weir::embedded::engine {

void joint_work_list::add(joint_work& work) noexcept {
  for (place& p : places_) {
    joint_work* none = nullptr;
    if (!p.work.compare_exchange_strong(none, &work)) continue;
    offered_.fetch_add(1);
    return;
  }
}

void joint_work_list::remove(joint_work& work) noexcept {
  for (place& p : places_) {
    if (p.work.load(std::memory_order_relaxed) != &work) continue;
    offered_.fetch_sub(1);
    const std::lock_guard lock{p.lock};  // nobody is just about to enter
    p.work.store(nullptr, std::memory_order_relaxed);
    break;
  }
  constexpr int most_spins = 2000;
  int spins = 0;
  for (std::uint32_t inside = work.inside_.load(std::memory_order_acquire); inside != 0;
       inside = work.inside_.load(std::memory_order_acquire)) {
    if (++spins < most_spins) {
      pause();
    } else {
      futex_wait(work.inside_, inside);
    }
  }
}

bool joint_work_list::has_open() noexcept {
  if (offered_.load() == 0) return false;
  for (place& p : places_) {
    const std::lock_guard lock{p.lock};
    const joint_work* const found = p.work.load(std::memory_order_acquire);
    if (found != nullptr && found->open_.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

joint_work* joint_work_list::enter() noexcept {
  if (offered_.load(std::memory_order_relaxed) == 0) return nullptr;
  for (place& p : places_) {
    if (p.work.load(std::memory_order_relaxed) == nullptr) continue;
    const std::lock_guard lock{p.lock};
    joint_work* const found = p.work.load(std::memory_order_acquire);
    if (found == nullptr || !found->open_.load(std::memory_order_relaxed)) continue;
    found->inside_.fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  return nullptr;
}

// Nothing of it may be touched afterwards but the address of the count, where the system looks who sleeps.
void joint_work_list::leave(joint_work& work) noexcept {
  std::atomic<std::uint32_t>& inside = work.inside_;
  if (inside.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake(inside, 1);
}

}  // namespace weir::embedded::engine
