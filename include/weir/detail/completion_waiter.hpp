// SPDX-License-Identifier: Apache-2.0
// weir/detail/completion_waiter.hpp - a waiter for the end of work, as the reactor sees it.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>

namespace weir::detail {

/// The work of one stream as a sequence of points. Each completion that was requested is the next
/// point, and its ticket is the number of the point. A queue is never destroyed. After its stream
/// was destroyed, the queue serves another stream, and the numbers continue.
class completion_queue;

class reactor;   ///< polls the queues of one device (completion/reactor.hpp)
class run_loop;  ///< the loop of a thread in sync_wait()

/// The thread that calls completion_waiter::on_complete.
enum class resume_policy : unsigned char {
  user_code_thread,  ///< a thread that may run user code: the reactor's, or one in poll()
  any_thread,        ///< any thread that finds the outcome, because the callback only passes it on
  /// The thread that registered the waiter, if it was in a sync_wait() then and is still in it.
  /// Otherwise as user_code_thread.
  waiting_thread,
};

/// A waiter for a point of a completion_queue. The reactor calls on_complete once when the point
/// has completed, unless the wait is cancelled. The owner must keep the waiter until then.
struct completion_waiter {
  /// Called without a lock held; it may destroy the waiter.
  void (*on_complete)(completion_waiter& self, errc outcome) noexcept = nullptr;
  resume_policy policy = resume_policy::user_code_thread;

  // The reactor uses the members below.
  errc outcome = errc::success;            ///< the result, valid when the point has completed
  run_loop* loop = nullptr;                ///< of the thread in sync_wait(); null if there is none
  unsigned long long loop_generation = 0;  ///< the sync_wait() of `loop` that registered the waiter
  unsigned long long ticket = 0;           ///< number of the point
  completion_waiter* next = nullptr;       ///< in the list that holds the waiter
  union {
    completion_waiter* previous = nullptr;  ///< in the list of waiters of a queue
    /// The reactor that found the outcome. Used while the waiter is in the list of ready waiters of
    /// `loop`, which needs no `previous`.
    reactor* found_by;
  };
};

/// A timer. The reactor calls on_expired once when the deadline has passed, unless the timer is
/// cancelled. The owner must keep the timer until then.
struct wait_timer {
  /// Called without a lock held, on any thread that polls the reactor. The function must not run
  /// user code, and may destroy the timer.
  void (*on_expired)(wait_timer& self) noexcept = nullptr;

  // The reactor uses the members below.
  long long deadline = 0;                 ///< nanoseconds of the steady clock
  __SIZE_TYPE__ heap_index = not_queued;  ///< position in the reactor's heap of timers

  static constexpr __SIZE_TYPE__ not_queued = __SIZE_MAX__;
};

/// Returns what is known about a point, without a driver call: success, the error of the work, or
/// not_ready if the outcome is not known yet.
[[nodiscard]] WEIR_EXPORT errc known_outcome(const completion_queue& queue,
                                             unsigned long long ticket) noexcept;
/// Like known_outcome(), but queries the driver if the outcome is not known.
///
/// Driver: cuEventQuery.
[[nodiscard]] WEIR_EXPORT errc query_outcome(completion_queue& queue,
                                             unsigned long long ticket) noexcept;

/// Registers a waiter for a point. Set waiter.on_complete and waiter.policy before. Returns false
/// if the point has completed already: waiter.outcome then has the result, and on_complete is not
/// called. Starts the reactor thread at the first use. Throws std::bad_alloc or std::system_error;
/// the waiter is then not registered.
[[nodiscard]] WEIR_EXPORT bool add_waiter(completion_queue& queue, unsigned long long ticket,
                                          completion_waiter& waiter);
/// Cancels a wait. Returns true if on_complete was not called and will not be called. Returns false
/// if it was called or is about to be called.
[[nodiscard]] WEIR_EXPORT bool cancel_wait(completion_queue& queue,
                                           completion_waiter& waiter) noexcept;

/// Has on_complete of a waiter called with waiter.outcome. The waiter must not be registered with
/// add_waiter(). The call is made on the reactor thread of the queue's device, or of device 0 if
/// `queue` is null. It is made inside post_completion() only if the policy is `any_thread`, or in a
/// forked child, which has no reactor thread. Starts the reactor thread at the first use. Throws
/// std::system_error; on_complete is then not called.
WEIR_EXPORT void post_completion(completion_queue* queue, completion_waiter& waiter);

/// Starts the reactor thread of the queue's device, or of device 0 if `queue` is null, so that
/// add_waiter() and post_completion() need not start it. Throws std::system_error.
WEIR_EXPORT void ensure_reactor_thread(completion_queue* queue);

/// Throws `outcome`, the outcome of a point, if it is an error. If it is success, throws the
/// exception of a host function of the stream if there is one; otherwise returns. `call` is the
/// name of the call for the error's text.
WEIR_EXPORT void throw_outcome(const completion_queue* queue, unsigned long long ticket,
                               errc outcome, const char* call, call_site at);

}  // namespace weir::detail
