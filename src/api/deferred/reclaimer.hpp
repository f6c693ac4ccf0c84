// SPDX-License-Identifier: Apache-2.0
// api/deferred/reclaimer.hpp - the reclaimer thread, for destruction that cannot happen where it
// was requested.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"

#include <weir/core/deferred.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace weir::detail {

// Queues a task for the reclaimer thread. The first task starts the thread, which sleeps while no
// task is queued. If the thread cannot be started, the task stays queued and the next call tries
// again.
//
// The function neither blocks nor fails. Tasks start in the order in which they were deferred. A
// task that returns busy or capture_active is run again until it returns done. A task may defer
// further tasks, which run directly after it.
void defer_task(deferred_task& task) noexcept;
// Called on the main thread, lets a later std::exit() of that thread wait for deferred tasks before
// it destroys statics. On any other thread it does nothing. The library calls it when it is loaded;
// streams call it for a program that loads weir on another thread.
void watch_exit_of_main_thread() noexcept;
// Like defer_task(), for a task that runs destructors of the program. The exit of the process waits
// for such a task if it has begun.
void defer_user_destructor(deferred_task& task) noexcept;

// A deferred task that calls a function object.
template <class F>
struct deferred_function final : deferred_task {
  explicit deferred_function(F&& f) : deferred_task{nullptr, &call}, work(std::move(f)) {}
  static task_result call(deferred_task& self) noexcept {
    deferred_function& task = static_cast<deferred_function&>(self);
    const task_result result = task.work();
    if (result == task_result::done) delete &task;
    return result;
  }
  F work;
};

// Runs work(), which returns a task_result, on the reclaimer thread.
template <class F>
void defer(F work) noexcept {
  static_assert(std::is_nothrow_move_constructible_v<F>);
  deferred_task* const node = new (std::nothrow) deferred_function<F>(std::move(work));
  if (node == nullptr) {
    // `work` was not moved from. It is leaked, since it must not be destroyed here.
    const never_destroyed<F> leaked{std::move(work)};  // NOLINT(bugprone-use-after-move)
    report_unhandled(errc::out_of_memory, "weir::defer", {});
    return;
  }
  defer_task(*node);
}

// Runs work() now if can_free_now() returns true. Otherwise runs it on the reclaimer thread when no
// capture is open, and never in a forked child.
template <class F>
void run_or_defer(F work) noexcept {
  if (can_free_now()) return work();
  defer([work = std::move(work)]() mutable noexcept {
    if (!can_free_now()) return task_result::capture_active;
    work();
    return task_result::done;
  });
}

// Runs work() now if can_destroy_now() returns true; otherwise defers it. It may run while captures
// are open, so its driver calls must not affect captures. Does nothing in a forked child, whose
// objects belong to the parent.
template <class F>
void destroy_or_defer(F work) noexcept {
  if (os::in_forked_child()) return;
  if (can_destroy_now()) return work();
  defer([work = std::move(work)]() mutable noexcept {
    work();
    return task_result::done;
  });
}

}  // namespace weir::detail
