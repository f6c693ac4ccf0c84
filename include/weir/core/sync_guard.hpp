// weir/core/sync_guard.hpp - a block of code in which the host must not wait for a device.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <cstddef>
#include <vector>

namespace weir {

// What becomes of a call of weir that makes the host wait.
enum class sync_rule : unsigned char {
  allowed,
  reported,   // it waits, and the guard keeps the line
  forbidden,  // errc::not_permitted, with nothing done
};

// While one lives, the calling thread's waits for devices are refused, which finds the hidden sync
// in a loop that should have none; or they are only reported.
//
//   weir::sync_guard none{false};
//   run_one_step(s);                                // a sync in there throws, with the line of
//   that sync
//
//   weir::sync_guard watch{weir::sync_rule::reported};
//   run_one_step(s);
//   for (const auto& w : watch.waits()) ...          // which waits, where, how often
//
// It is about sync(), sync_for(), sync_until(), sync_elapsed(), shutdown() and sync_scope() of
// streams, events, contexts and devices, wait(), wait_for() and wait_until() of completions and
// futures, get(), sync_wait(), close() of memory that waits for its users (pinned, managed, mapped,
// of several processes), and copies of pageable memory, also in a batch, which a driver stages
// while the caller waits. Not about done() and try_done(), which only look, nor about the program's
// own calls of the driver and other libraries. Guards nest: the innermost one decides, and at its
// end the one before does again, also if the block ends by an exception. They may end in any order.
// Each ends on the thread that began it. Other threads are not concerned. Without one all is
// allowed, and a wait costs a load more.
class WEIR_EXPORT sync_guard {
 public:
  explicit sync_guard(bool allowed, call_site at = call_site::current()) noexcept
      : sync_guard{allowed ? sync_rule::allowed : sync_rule::forbidden, at} {}
  explicit sync_guard(sync_rule rule, call_site at = call_site::current()) noexcept;
  sync_guard(const sync_guard&) = delete;
  sync_guard& operator=(const sync_guard&) = delete;
  ~sync_guard();

  struct wait {
    const char* call = "";  // the driver call that waits, or the operation of weir's
    call_site where;
    std::size_t times = 0;
  };
  // What was reported to this guard, each line once, in the order of their first times.
  [[nodiscard]] const std::vector<wait>& waits() const noexcept { return waits_; }

  // For weir's operations, on a thread with a guard. The first throws if waits are refused, for
  // what has more to do before it waits; the second also reports.
  void throw_if_forbidden(const char* call, call_site at) const;
  void before_wait(const char* call, call_site at);

 private:
  sync_guard* previous_;
  sync_rule rule_;
  call_site created_at_;
  std::vector<wait> waits_;
};

}  // namespace weir
