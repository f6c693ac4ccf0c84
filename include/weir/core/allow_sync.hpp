// weir/core/allow_sync.hpp - a block of code in which the host must not wait for a device.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <cstddef>
#include <vector>

namespace weir {

// What becomes of a call of weir that makes the host wait.
enum class syncs : unsigned char {
  allowed,
  reported,  // it waits, and the guard keeps the line
  refused,   // errc::not_permitted, with nothing done
};

// While one lives, the calling thread's waits for devices are refused, which finds the hidden sync in a loop that should
// have none; or they are only reported.
//
//   weir::allow_sync none{false};
//   run_one_step(s);                                // a sync in there throws, with the line of that sync
//
//   weir::allow_sync watch{weir::syncs::reported};
//   run_one_step(s);
//   for (const auto& w : watch.seen()) ...          // which waits, where, how often
//
// It is about sync(), sync_for(), sync_until(), sync_elapsed(), shutdown() and sync_scope() of streams, events, contexts
// and devices, wait(), wait_for() and wait_until() of completions and futures, get(), sync_wait(), close() of memory that waits for its users (pinned, managed, mapped, of several processes), and copies of
// pageable memory, also in a batch, which a driver stages while the caller waits. Not about done() and try_done(), which
// only look, nor about the program's own calls of the driver and other libraries.
// Guards nest: the innermost one decides, and at its end the one before does again, also if the block ends by an
// exception. They may end in any order. Each ends on the thread that began it. Other threads are not concerned. Without one all is allowed, and a
// wait costs a load more.
class WEIR_EXPORT allow_sync {
 public:
  explicit allow_sync(bool allowed, call_site at = call_site::current()) noexcept
      : allow_sync{allowed ? syncs::allowed : syncs::refused, at} {}
  explicit allow_sync(syncs rule, call_site at = call_site::current()) noexcept;
  allow_sync(const allow_sync&) = delete;
  allow_sync& operator=(const allow_sync&) = delete;
  ~allow_sync();

  struct wait {
    const char* call = "";  // the driver call that waits, or the operation of weir's
    call_site where;
    std::size_t times = 0;
  };
  // What was reported to this guard, each line once, in the order of their first times.
  [[nodiscard]] const std::vector<wait>& seen() const noexcept { return seen_; }

  // For weir's operations, on a thread with a guard. The first throws if waits are refused, for what has more to do
  // before it waits; the second also reports.
  void refuse(const char* call, call_site at) const;
  void about_to_wait(const char* call, call_site at);

 private:
  allow_sync* before_;
  syncs rule_;
  call_site began_;
  std::vector<wait> seen_;
};

}  // namespace weir
