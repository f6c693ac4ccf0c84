// api/deferred/reclaimer.hpp - weir's own thread, for destruction that may not happen where it was
// asked for.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"

#include <weir/core/deferred.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weir::detail {

// Leaves the chore to the thread, which is started at the first one and sleeps when there is none.
// Never blocks and never fails: a chore whose thread cannot be started waits for the next one's.
// Chores are begun in order; one that answers busy or capture_active is asked again later. A chore
// may leave further ones.
void defer_task(deferred_task& task) noexcept;
// The same where it ends objects of the program's. Exit waits for those however long they take, and
// for a driver's call not.
void defer_user_destructor(deferred_task& task) noexcept;

// From any thread, before the end of the process. On the main one it will be known there that
// statics may be destroyed before any is: what is left from then on is waited for before older
// statics are. Where weir is loaded later the main thread may not be the one that does.
void install_exit_sentinel() noexcept;

// A chore made of a function object.
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

// Leaves work() to the thread; it answers a task_result, or nothing if it is done after one run
// outside of captures.
template <class F>
void defer(F work) noexcept {
  static_assert(std::is_nothrow_move_constructible_v<F>);
  deferred_task* const node = new (std::nothrow) deferred_function<F>(std::move(work));
  if (node == nullptr) {
    // What the work holds stays behind: to destroy it here is what may not be.
    alignas(F) std::byte leaked[sizeof(F)];
    // Not moved from yet: where there is no memory nothing was constructed.
    // NOLINTNEXTLINE(bugprone-use-after-move)
    ::new (static_cast<void*>(leaked)) F(std::move(work));
    report_unhandled(errc::out_of_memory, "weir::defer", {});
    return;
  }
  defer_task(*node);
}

// Runs work() now if frees are allowed now, else later.
template <class F>
void run_or_defer(F work) noexcept {
  if (can_free_now()) {
    work();
  } else {
    defer(std::move(work));
  }
}

// Leaves work that no capture minds.
template <class F>
void defer_capture_safe(F work) noexcept {
  defer([work = std::move(work)]() mutable noexcept {
    work();
    return task_result::done;
  });
}

// Runs such work now, unless this is a host function, where no driver call may be made.
template <class F>
void run_outside_host_functions(F work) noexcept {
  if (in_forked_child()) return;  // what it is about is the parent's
  if (inside_host_function) {
    defer_capture_safe(std::move(work));
  } else {
    work();
  }
}

// The same for destructors, which do not wait behind a call of weir's thread either.
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
