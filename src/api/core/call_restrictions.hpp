// SPDX-License-Identifier: Apache-2.0
// api/core/call_restrictions.hpp - what forbids driver calls at present: a host function on this
// thread, or any open capture.
#pragma once

#include "driver/active_captures.hpp"
#include "os/forked_child.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

// True while this thread runs a host function of weir. The TLS model makes a read one instruction,
// since every operation reads it.
extern thread_local constinit bool inside_host_function [[gnu::tls_model("initial-exec")]];

// True while the reclaimer thread runs a destructor of the program. If that destructor destroys
// weir objects, their driver calls are deferred again. They run after the destructor has returned.
extern thread_local constinit bool inside_user_destructor [[gnu::tls_model("initial-exec")]];

// Increments active_capture_count and relaxed_mode_reasons. Code that begins a capture for weir
// holds an object of this class until the capture has ended.
class scoped_active_capture {
 public:
  scoped_active_capture() noexcept {
    active_capture_count.fetch_add(1, std::memory_order_relaxed);
    relaxed_mode_reasons.fetch_add(1, std::memory_order_relaxed);
    capture_change_count.fetch_add(1, std::memory_order_relaxed);
  }
  scoped_active_capture(const scoped_active_capture&) = delete;
  scoped_active_capture& operator=(const scoped_active_capture&) = delete;
  ~scoped_active_capture() {
    capture_change_count.fetch_add(1, std::memory_order_relaxed);
    active_capture_count.fetch_sub(1, std::memory_order_relaxed);
    relaxed_mode_reasons.fetch_sub(1, std::memory_order_relaxed);
  }
};

// Marks this thread as running a host function.
class host_function_guard {
 public:
  host_function_guard() noexcept { inside_host_function = true; }
  host_function_guard(const host_function_guard&) = delete;
  host_function_guard& operator=(const host_function_guard&) = delete;
  ~host_function_guard() { inside_host_function = false; }
};

// True while the reclaimer thread is in a driver call that waits for a device, and after exit has
// stopped waiting for deferred tasks. During such a call a GPU's driver holds a lock that other
// driver calls need. Destructors must not block, so they defer their driver calls.
inline constinit std::atomic<bool> driver_is_blocked{false};

// Returns true if a destructor may make its driver call now on this thread. Used for calls that do
// not affect captures.
[[nodiscard]] inline bool can_destroy_now() noexcept {
  return !inside_host_function && !inside_user_destructor &&
         !driver_is_blocked.load(std::memory_order_relaxed);
}

// Returns true if memory may be freed now on this thread. Otherwise the caller defers the free. A
// forked child has no reclaimer thread, so it never runs a deferred free.
[[nodiscard]] inline bool can_free_now() noexcept {
  return !inside_host_function && !inside_user_destructor &&
         active_capture_count.load(std::memory_order_relaxed) == 0 && !os::in_forked_child();
}

}  // namespace weir::detail
