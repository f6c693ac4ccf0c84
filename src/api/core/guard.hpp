// api/core/guard.hpp - what forbids driver calls just now: a host function on this thread, a capture anywhere.
#pragma once

#include "os/forked_child.hpp"
#include "driver/active_captures.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

// Set while this thread runs a host function of weir's. The model makes reading it one instruction, as a part of every
// operation has to be.
extern thread_local constinit bool inside_host_function [[gnu::tls_model("initial-exec")]];

// Set while weir's own thread ends objects of the program's. What weir destroys there is left to that thread again, so that
// it has nothing to wait for but the program.
extern thread_local constinit bool inside_program_chore [[gnu::tls_model("initial-exec")]];

// Counts one of them. Whoever begins captures for weir holds one of these until the capture has ended.
class capture_mark {
 public:
  capture_mark() noexcept { open_captures.fetch_add(1, std::memory_order_relaxed); }
  capture_mark(const capture_mark&) = delete;
  capture_mark& operator=(const capture_mark&) = delete;
  ~capture_mark() { open_captures.fetch_sub(1, std::memory_order_relaxed); }
};

// Marks this thread as running a host function.
class host_function_mark {
 public:
  host_function_mark() noexcept { inside_host_function = true; }
  host_function_mark(const host_function_mark&) = delete;
  host_function_mark& operator=(const host_function_mark&) = delete;
  ~host_function_mark() { inside_host_function = false; }
};

// Set while weir's own thread is in a call that waits for a device. A GPU's driver holds a lock meanwhile that other calls
// need, so destructors, which do not block, leave theirs to that thread.
inline constinit std::atomic<bool> driver_is_held_up{false};

// May a destructor make its call here and now, which no capture minds?
[[nodiscard]] inline bool may_destroy() noexcept {
  return !inside_host_function && !inside_program_chore && !driver_is_held_up.load(std::memory_order_relaxed);
}

// May something be freed now? If not it becomes a chore, in a forked child one that nobody does.
[[nodiscard]] inline bool may_free() noexcept {
  return !inside_host_function && !inside_program_chore && open_captures.load(std::memory_order_relaxed) == 0 &&
         !in_forked_child();
}

}  // namespace weir::detail
