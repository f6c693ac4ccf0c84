// api/core/call_restrictions.hpp - what forbids driver calls just now: a host function on this
// thread, a capture anywhere.
#pragma once

#include "driver/active_captures.hpp"
#include "os/forked_child.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

// Set while this thread runs a host function of weir's. The model makes reading it one instruction,
// as a part of every operation has to be.
extern thread_local constinit bool inside_host_function [[gnu::tls_model("initial-exec")]];

// Set while weir's own thread ends objects of the program's. What weir destroys there is left to
// that thread again, so that it has nothing to wait for but the program.
extern thread_local constinit bool inside_user_destructor [[gnu::tls_model("initial-exec")]];

// Counts one of them. Whoever begins captures for weir holds one of these until the capture has
// ended.
class scoped_active_capture {
 public:
  scoped_active_capture() noexcept { active_capture_count.fetch_add(1, std::memory_order_relaxed); }
  scoped_active_capture(const scoped_active_capture&) = delete;
  scoped_active_capture& operator=(const scoped_active_capture&) = delete;
  ~scoped_active_capture() { active_capture_count.fetch_sub(1, std::memory_order_relaxed); }
};

// Marks this thread as running a host function.
class host_function_guard {
 public:
  host_function_guard() noexcept { inside_host_function = true; }
  host_function_guard(const host_function_guard&) = delete;
  host_function_guard& operator=(const host_function_guard&) = delete;
  ~host_function_guard() { inside_host_function = false; }
};

// Set while weir's own thread is in a call that waits for a device. A GPU's driver holds a lock
// meanwhile that other calls need, so destructors, which do not block, leave theirs to that thread.
inline constinit std::atomic<bool> driver_is_blocked{false};

// May a destructor make its call here and now, which no capture minds?
[[nodiscard]] inline bool can_destroy_now() noexcept {
  return !inside_host_function && !inside_user_destructor &&
         !driver_is_blocked.load(std::memory_order_relaxed);
}

// May something be freed now? If not it becomes a chore, in a forked child one that nobody does.
[[nodiscard]] inline bool can_free_now() noexcept {
  return !inside_host_function && !inside_user_destructor &&
         active_capture_count.load(std::memory_order_relaxed) == 0 && !in_forked_child();
}

}  // namespace weir::detail
