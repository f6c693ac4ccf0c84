// SPDX-License-Identifier: Apache-2.0
// weir/detail/completion_waiter.hpp - a waiter for the end of work, as the reactor sees it.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>

namespace weir::detail {

/// The work of one stream as a sequence of numbered points, in the order in which completions were
/// requested. It is never destroyed. After its stream was destroyed, it serves another stream, and
/// the numbers continue.
class completion_queue;

class reactor;
class run_loop;

/// The thread that calls completion_waiter::on_complete.
enum class resume_policy : unsigned char {
  user_code_thread,  ///< one that may run user code: the reactor's own, or one in poll()
  any_thread,        ///< any thread that finds the outcome, because the callback only passes it on
  /// The thread that waited, if it was in sync_wait() and still is. Else as user_code_thread.
  waiting_thread,
};

/// A waiter. It is notified once when its point has completed, unless the wait is cancelled. Its
/// owner keeps it until then.
struct completion_waiter {
  /// Called without a lock held; it may destroy the waiter.
  void (*on_complete)(completion_waiter& self, errc outcome) noexcept = nullptr;
  resume_policy policy = resume_policy::user_code_thread;

  /// Used by the reactor.
  errc outcome = errc::success;
  run_loop* loop = nullptr;
  unsigned long long loop_generation = 0;
  unsigned long long ticket = 0;
  completion_waiter* next = nullptr;
  union {
    completion_waiter* previous = nullptr;
    reactor* found_by;  ///< set once it is ready in the loop, where there is no previous one
  };
};

/// A timer. It is notified once when its time has come, unless it is cancelled. Its owner keeps it
/// until then.
struct wait_timer {
  /// Called without a lock held, by any thread that drives the reactor. It only passes the event
  /// on; it may destroy the timer.
  void (*on_expired)(wait_timer& self) noexcept = nullptr;

  /// Used by the reactor.
  long long deadline = 0;  ///< nanoseconds of the steady clock
  __SIZE_TYPE__ heap_index = not_queued;

  static constexpr __SIZE_TYPE__ not_queued = __SIZE_MAX__;
};

/// Returns the recorded outcome of a point, without a driver call: success, not_ready, or the error
/// of the work.
[[nodiscard]] WEIR_EXPORT errc known_outcome(const completion_queue& queue,
                                             unsigned long long ticket) noexcept;
/// Like known_outcome(), but queries the driver if the outcome is not known.
///
/// Driver: cuEventQuery.
[[nodiscard]] WEIR_EXPORT errc query_outcome(completion_queue& queue,
                                             unsigned long long ticket) noexcept;
/// Like query_outcome(), but skips the driver query if the reactor already polls this stream for
/// this or an earlier ticket. The query would cost more than the rest of the wait. Use it only for
/// completions that were just created: for others, the work may have finished already, and the
/// caller expects to continue at once.
[[nodiscard]] WEIR_EXPORT errc query_unless_polled(completion_queue& queue,
                                                   unsigned long long ticket) noexcept;

/// Registers a waiter for a point. Returns false if the point has completed already: `outcome` then
/// has the result, and there is no notification. Starts the reactor thread at the first use. Throws
/// std::bad_alloc or std::system_error with nothing done.
[[nodiscard]] WEIR_EXPORT bool add_waiter(completion_queue& queue, unsigned long long ticket,
                                          completion_waiter& waiter);
/// Cancels a wait. Returns true if the waiter was not notified and never will be.
[[nodiscard]] WEIR_EXPORT bool cancel_wait(completion_queue& queue,
                                           completion_waiter& waiter) noexcept;

/// Delivers its outcome to a waiter that is no longer registered. Its callback runs on the reactor
/// thread. It runs inside this call only if its policy is `any_thread`, or in a forked child, which
/// has no reactor thread. `queue` may be null. Starts the reactor thread at the first use. Throws
/// std::system_error with nothing done.
WEIR_EXPORT void post_completion(completion_queue* queue, completion_waiter& waiter);

/// Starts the reactor thread, which add_waiter() and post_completion() do otherwise. `queue` may be
/// null. Throws std::system_error.
WEIR_EXPORT void ensure_reactor_thread(completion_queue* queue);

/// Throws the outcome of a point, or if that is success, the exception of a host function of the
/// stream, if there is one.
WEIR_EXPORT void throw_outcome(const completion_queue* queue, unsigned long long ticket,
                               errc outcome, const char* call, call_site at);

}  // namespace weir::detail
