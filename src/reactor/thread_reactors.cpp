// reactor/thread_reactors.cpp - the reactors that the calling thread stands in for.
#include "reactor/thread_reactors.hpp"

#include "os/forked_child.hpp"
#include "reactor/poller_count.hpp"
#include "reactor/reactor.hpp"

#include <bit>
#include <mutex>

namespace weir::detail {
namespace {

constexpr int max_devices = 64;

constinit thread_local thread_reactors reactors_of_this_thread;

}  // namespace

thread_reactors& this_thread_reactors() noexcept { return reactors_of_this_thread; }

void thread_reactors::add(int device) noexcept {
  if (const std::uint32_t now = all_pollers.period(); period_ != now) {
    devices_ = 0;
    period_ = now;
  }
  if (device < max_devices) devices_ |= std::uint64_t{1} << static_cast<unsigned>(device);
}

bool thread_reactors::any() noexcept {
  if (devices_ == 0) return false;
  if (!all_pollers.is_current(period_)) devices_ = 0;
  for (std::uint64_t left = devices_; left != 0; left &= left - 1) {
    if (!reactor::existing_for_device(std::countr_zero(left)).has_pollers())
      devices_ ^= left & -left;
  }
  return devices_ != 0;
}

void thread_reactors::for_each(void (*callback)(reactor& each, void* argument),
                               void* argument) noexcept {
  if (!any()) return;
  for (std::uint64_t left = devices_; left != 0; left &= left - 1) {
    callback(reactor::existing_for_device(std::countr_zero(left)), argument);
  }
}

void reactor::add_poller() noexcept {
  all_pollers.add();
  pollers_.fetch_add(1);
  if (!in_forked_child()) {  // where other threads may have left them locked
    // Whatever the reactor's thread takes up from now on it leaves.
    { const std::lock_guard lock{poll_lock_}; }
    { const std::lock_guard lock{due_lock_}; }
  }
  this_thread_reactors().add(device_);
}

void reactor::remove_poller() noexcept {
  if (pollers_.fetch_sub(1) == 1) signal();
  all_pollers.remove();
}

std::size_t reactor::poll() noexcept {
  this_thread_reactors().add(device_);
  return run_once(caller_kind::poller);
}

}  // namespace weir::detail
