// weir/detail/completion_waiter.hpp - whoever waits for the end of work, as the reactor knows it.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>

namespace weir::detail {

// The work of one stream as numbered points, in the order in which they were asked for. It lives
// for ever; when its stream is gone it serves another one and goes on counting.
class completion_queue;

class reactor;
class run_loop;

// Which thread tells.
enum class resume_policy : unsigned char {
  user_code_thread,  // one that may run the program's code: the reactor's own, or one in poll()
  any_thread,        // any that finds out, as it only passes the news on
  waiting_thread,    // the one that waited, if it is in sync_wait() and still is then; else as own
};

// Is told once that a point is settled, or is taken back. Lives with who waits, until then.
struct completion_waiter {
  // Under no lock; it may end the waiter.
  void (*on_complete)(completion_waiter& self, errc outcome) noexcept = nullptr;
  resume_policy policy = resume_policy::user_code_thread;

  // The reactor's.
  errc outcome = errc::success;
  run_loop* loop = nullptr;
  unsigned long long loop_generation = 0;
  unsigned long long ticket = 0;
  completion_waiter* next = nullptr;
  union {
    completion_waiter* previous = nullptr;
    reactor* found_by;  // once it is ready in the loop, where it has none before it
  };
};

// Is told once that its time has come, or is taken back. Lives with who waits, until then.
struct wait_timer {
  // By any thread that drives the reactor, under no lock. Passes the news on; it may end the timer.
  void (*on_expired)(wait_timer& self) noexcept = nullptr;

  // The reactor's.
  long long deadline = 0;  // nanoseconds of the steady clock
  __SIZE_TYPE__ heap_index = not_queued;

  static constexpr __SIZE_TYPE__ not_queued = __SIZE_MAX__;
};

// What is known of a point: success, not_ready, or what the work failed with. No driver call.
[[nodiscard]] WEIR_EXPORT errc known_outcome(const completion_queue& queue,
                                             unsigned long long ticket) noexcept;
// The same after asking the driver, if nothing is known. cuEventQuery.
[[nodiscard]] WEIR_EXPORT errc query_outcome(completion_queue& queue,
                                             unsigned long long ticket) noexcept;
// The same, unless the reactor's thread looks after others who wait for no later point, without a
// pause or between sleeps: it will notice by itself, and a question more would cost as much as all
// the rest. For what has just been made: whoever knows anything else to be done may rely on going
// on at once.
[[nodiscard]] WEIR_EXPORT errc query_unless_polled(completion_queue& queue,
                                                   unsigned long long ticket) noexcept;

// Has the waiter told when the point is settled. False if it is: `outcome` then says how, and
// nobody is told. Begins the reactor's thread at the first use. Throws std::bad_alloc or
// std::system_error, with nothing done.
[[nodiscard]] WEIR_EXPORT bool add_waiter(completion_queue& queue, unsigned long long ticket,
                                          completion_waiter& waiter);
// True if it is not told and never will be.
[[nodiscard]] WEIR_EXPORT bool cancel_wait(completion_queue& queue,
                                           completion_waiter& waiter) noexcept;

// Has a waiter that waits no more told of its outcome, as if that had just been found out; inside
// of this call only if its teller is `any`, or in a forked child, which has no other thread.
// `queue` may be null. Begins the reactor's thread at the first use. Throws std::system_error, with
// nothing done.
WEIR_EXPORT void post_completion(completion_queue* queue, completion_waiter& waiter);

// Begins the reactor's thread, which those two do else. `queue` may be null. Throws
// std::system_error.
WEIR_EXPORT void ensure_reactor_thread(completion_queue* queue);

// Throws what a point is settled with, unless that is success: then what a host function of the
// stream has thrown, if one has.
WEIR_EXPORT void throw_outcome(const completion_queue* queue, unsigned long long ticket,
                               errc outcome, const char* call, call_site at);

}  // namespace weir::detail
