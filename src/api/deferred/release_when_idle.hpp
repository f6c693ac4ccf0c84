// SPDX-License-Identifier: Apache-2.0
// api/deferred/release_when_idle.hpp - memory and owners released when the streams that use them
// are idle.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/memory/pending_uses.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/stream/stream.hpp>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {

// Calls free(failure) on the reclaimer thread when memory may be freed there and all uses are done.
// Each argument in `uses` is a pointer to a pending_uses, or null. `failure` is the first failure
// of recording events for the uses.
//
// free() returns nothing or a task_result. It is called again while it returns something other than
// done. This function does not block.
template <class Free, class... Uses>
void free_when_idle(Free free, Uses... uses) noexcept {
  defer([free = std::move(free), ... uses = std::move(uses), snapshot_taken = false,
         failure = first_failure{}]() mutable {
    if (!can_free_now()) return task_result::capture_active;
    const auto all = [&](const auto& condition) {
      return ((uses == nullptr || condition(*uses)) && ...);
    };
    if (!snapshot_taken && !all([&](auto& list) { return list.snapshot_unless_captured(failure); }))
      return task_result::capture_active;
    snapshot_taken = true;
    if (!all([](auto& list) { return list.done(); })) return task_result::busy;
    (uses.reset(), ...);
    if constexpr (std::is_void_v<std::invoke_result_t<Free&, first_failure>>) {
      free(failure);
      return task_result::done;
    } else {
      return free(failure);
    }
  });
}

// Releases the owners on the reclaimer thread when all uses in `first` and `second` are done.
// Either of the two lists may be null.
void release_when_idle(std::shared_ptr<pending_uses> first, std::shared_ptr<pending_uses> second,
                       std::vector<keep_alive_ref> owners) noexcept;

// Keeps owners alive until a stream has finished its work: all work queued before this object is
// destroyed.
class keep_until_idle {
 public:
  keep_until_idle(stream_ref stream, call_site at) noexcept : stream_{stream}, at_{at} {}
  keep_until_idle(const keep_until_idle&) = delete;
  keep_until_idle& operator=(const keep_until_idle&) = delete;
  ~keep_until_idle();

  // Adds an owner. If it throws, the owner is released immediately.
  void keep(keep_alive_ref owner);

 private:
  stream_ref stream_;
  call_site at_;
  std::shared_ptr<pending_uses> uses_;
  std::vector<keep_alive_ref> owners_;
};

}  // namespace weir::detail
