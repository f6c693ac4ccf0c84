// SPDX-License-Identifier: Apache-2.0
// api/deferred/reclaimer.hpp - the reclaimer thread, for destruction that cannot happen where it
// was requested.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"

#include <weir/core/deferred.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weir::detail {

// Queues the task for the reclaimer thread, which the first task starts and which sleeps while
// there is none. Never blocks and never fails: if the thread cannot be started, the next task tries
// again. Tasks start in order. A task that returns busy or capture_active runs again later. A task
// may defer further ones.
void defer_task(deferred_task& task) noexcept;
// Like defer_task(), for a task that runs destructors of the program. Exit waits for these however
// long they take, but not for driver calls.
void defer_user_destructor(deferred_task& task) noexcept;

// Installs a thread-local sentinel on the main thread, so that exit is detected before the first
// static is destroyed. Exit then waits for tasks deferred from that point before older statics are
// destroyed. Does nothing on other threads, so a program that loads weir later on another thread
// gets no sentinel. May be called from any thread before exit.
void install_exit_sentinel() noexcept;

// A deferred task that calls a function object.
template <class F>
struct deferred_function final : deferred_task {
  explicit deferred_function(F&& f) : deferred_task{nullptr, &call}, work(std::move(f)) {}
  static task_result call(deferred_task& self) noexcept {
    deferred_function& task = static_cast<deferred_function&>(self);
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      if (active_capture_count.load(std::memory_order_relaxed) != 0)
        return task_result::capture_active;
      task.work();
    } else {
      const task_result result = task.work();
      if (result != task_result::done) return result;
    }
    delete &task;
    return task_result::done;
  }
  F work;
};

// Runs work() on the reclaimer thread. work() returns a task_result; if it returns void, it runs
// once, while no capture is open.
template <class F>
void defer(F work) noexcept {
  static_assert(std::is_nothrow_move_constructible_v<F>);
  deferred_task* const node = new (std::nothrow) deferred_function<F>(std::move(work));
  if (node == nullptr) {
    // Leaks what the work holds, since it must not be destroyed here.
    alignas(F) std::byte leaked[sizeof(F)];
    // `work` was not moved from yet: the allocation failed, so nothing was constructed.
    // NOLINTNEXTLINE(bugprone-use-after-move)
    ::new (static_cast<void*>(leaked)) F(std::move(work));
    report_unhandled(errc::out_of_memory, "weir::defer", {});
    return;
  }
  defer_task(*node);
}

// Runs work() now if memory may be freed now; otherwise defers it.
template <class F>
void run_or_defer(F work) noexcept {
  if (can_free_now()) {
    work();
  } else {
    defer(std::move(work));
  }
}

// Defers work that is harmless to captures.
template <class F>
void defer_capture_safe(F work) noexcept {
  defer([work = std::move(work)]() mutable noexcept {
    work();
    return task_result::done;
  });
}

// Runs work() now, or defers it in a host function, where driver calls are forbidden. The work must
// be harmless to captures.
template <class F>
void run_outside_host_functions(F work) noexcept {
  if (in_forked_child()) return;  // the objects belong to the parent
  if (inside_host_function) {
    defer_capture_safe(std::move(work));
  } else {
    work();
  }
}

// Like run_outside_host_functions(), for destructors. Also defers the work while the reclaimer
// thread is in a call that blocks the driver, and inside a destructor of the program on the
// reclaimer thread.
template <class F>
void destroy_or_defer(F work) noexcept {
  if (in_forked_child()) return;
  if (can_destroy_now()) {
    work();
  } else {
    defer_capture_safe(std::move(work));
  }
}

}  // namespace weir::detail
