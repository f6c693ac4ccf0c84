// SPDX-License-Identifier: Apache-2.0
// weir/core/sync_guard.hpp - a block of code in which the host must not wait for a device.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <cstddef>
#include <vector>

namespace weir {

/// The action of a sync_guard on a call that makes the host wait for a device.
enum class sync_rule : unsigned char {
  allowed,    ///< the call waits, and nothing is recorded
  reported,   ///< the call waits, and the guard records its line
  forbidden,  ///< the call throws `not_permitted` with nothing done
};

/// While an object of this class exists, each call with which the calling thread would wait for a
/// device throws or is recorded, as the sync_rule says. This finds hidden syncs in a loop that
/// should have none.
///
///   weir::sync_guard none{weir::sync_rule::forbidden};
///   run_one_step(s);  // a sync inside throws and names its line
///
///   weir::sync_guard watch{weir::sync_rule::reported};
///   run_one_step(s);
///   for (const auto& w : watch.waits()) ...  // which waits, where, how often
///
/// The guard applies to these calls:
/// - sync(), sync_for(), sync_until(), sync_elapsed(), shutdown() and sync_scope() of streams,
///   events, contexts and devices
/// - wait(), wait_for(), wait_until(), get() and sync_wait() of completions and futures
/// - close() of memory that waits for its users: pinned, managed, mapped, shared between processes
/// - copies of pageable memory, also in a batch, which a driver stages while the caller waits
/// - single copies from host memory to host memory, for which the caller waits
///
/// The guard does not apply to done() and status(), which never wait, nor to driver calls made
/// directly by the program or by other libraries.
///
/// Guards nest: the guard of the thread that was created last decides. When it is destroyed, the
/// guard that was created before it decides again. Guards on the heap may be destroyed in any
/// order, but each on the thread that created it. Other threads are not affected.
///
/// Cost: in a thread without a guard, every wait is allowed and costs one additional load.
class WEIR_EXPORT sync_guard {
 public:
  /// Applies the rule until the guard is destroyed.
  explicit sync_guard(sync_rule rule, call_site at = call_site::current()) noexcept;
  sync_guard(const sync_guard&) = delete;
  sync_guard& operator=(const sync_guard&) = delete;
  ~sync_guard();

  /// A recorded wait.
  struct wait {
    const char* call = "";  ///< the driver call that waits, or weir's operation
    call_site where;
    std::size_t times = 0;  ///< how often this call waited at this line
  };
  /// Returns the waits that were recorded, each line once, in the order of their first occurrence.
  [[nodiscard]] const std::vector<wait>& waits() const noexcept { return waits_; }

  /// Throws if the rule is `forbidden`; never records. weir calls it at the start of an operation
  /// that does other work before it waits, so that the operation fails with nothing done.
  void throw_if_forbidden(const char* call, call_site at) const;
  /// Throws if the rule is `forbidden`; records the wait if the rule is `reported`. weir calls it
  /// on a thread with a guard, directly before the wait.
  void before_wait(const char* call, call_site at);

 private:
  sync_guard* previous_;  ///< the thread's guard before this one; null if there was none
  sync_rule rule_;
  call_site created_at_;
  std::vector<wait> waits_;
};

}  // namespace weir
