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

// Queues the task for the reclaimer thread, which the first task starts and which sleeps while
// there is none. Never blocks and never fails: if the thread cannot be started, the next task tries
// again. Tasks start in order. A task that returns busy or capture_active runs again later. A task
// may defer further ones.
void defer_task(deferred_task& task) noexcept;
// Like defer_task(), for a task that runs destructors of the program. Exit waits for one that has
// begun.
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

// Runs work() now if memory may be freed now; otherwise defers it.
template <class F>
void run_or_defer(F work) noexcept {
  if (can_free_now()) return work();
  defer([work = std::move(work)]() mutable noexcept {
    if (!can_free_now()) return task_result::capture_active;
    work();
    return task_result::done;
  });
}

// Defers work that is harmless to captures.
template <class F>
void defer_capture_safe(F work) noexcept {
  defer([work = std::move(work)]() mutable noexcept {
    work();
    return task_result::done;
  });
}

// Runs work() now, or defers it: in a host function, where driver calls are forbidden, in a
// destructor of the program on the reclaimer thread, and while that thread is in a call that blocks
// the driver. The work must be harmless to captures.
template <class F>
void destroy_or_defer(F work) noexcept {
  if (os::in_forked_child()) return;
  if (can_destroy_now()) return work();
  defer_capture_safe(std::move(work));
}

}  // namespace weir::detail
