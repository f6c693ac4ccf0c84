// reactor/driven_here.cpp - the reactors that the calling thread stands in for.
#include "reactor/driven_here.hpp"

#include "os/forked_child.hpp"
#include "reactor/drive_count.hpp"
#include "reactor/reactor.hpp"

#include <bit>
#include <mutex>

namespace weir::detail {
namespace {

constexpr int most = 64;

constinit thread_local driven_here of_this_thread;

}  // namespace

driven_here& driven_by_this_thread() noexcept { return of_this_thread; }

void driven_here::note(int device) noexcept {
  if (const std::uint32_t now = all_drives.period(); period_ != now) {
    devices_ = 0;
    period_ = now;
  }
  if (device < most) devices_ |= std::uint64_t{1} << static_cast<unsigned>(device);
}

bool driven_here::any() noexcept {
  if (devices_ == 0) return false;
  if (!all_drives.lasts(period_)) devices_ = 0;
  for (std::uint64_t left = devices_; left != 0; left &= left - 1) {
    if (!reactor::of_noted(std::countr_zero(left)).is_driven()) devices_ ^= left & -left;
  }
  return devices_ != 0;
}

void driven_here::for_each(void (*drive)(reactor& one, void* with), void* with) noexcept {
  if (!any()) return;
  for (std::uint64_t left = devices_; left != 0; left &= left - 1) {
    drive(reactor::of_noted(std::countr_zero(left)), with);
  }
}

void reactor::begin_driving() noexcept {
  all_drives.begin();
  drivers_.fetch_add(1);
  if (!in_forked_child()) {  // where other threads may have left them locked
    // Whatever the reactor's thread takes up from now on it leaves.
    { const std::lock_guard passed{driving_}; }
    { const std::lock_guard passed{due_lock_}; }
  }
  driven_by_this_thread().note(device_);
}

void reactor::end_driving() noexcept {
  if (drivers_.fetch_sub(1) == 1) signal();
  all_drives.end();
}

std::size_t reactor::poll() noexcept {
  driven_by_this_thread().note(device_);
  return drive(callers::own);
}

}  // namespace weir::detail
