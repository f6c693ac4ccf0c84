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

// Calls free(failure) once on the reclaimer thread, when frees are allowed and all uses are done,
// of which any may be null. `failure` is the first failure of recording the uses. A free that
// returns a task_result other than done is called again. Does not block.
template <class Free, class... Uses>
void free_when_idle(Free free, Uses... uses) noexcept {
  defer([free = std::move(free), ... uses = std::move(uses), snapshot_taken = false,
         failure = first_failure{}]() mutable {
    if (!can_free_now()) return task_result::capture_active;
    const auto all = [&](const auto& holds) { return ((uses == nullptr || holds(*uses)) && ...); };
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

// Releases the owners on the reclaimer thread when all uses of both lists are done. Either list may
// be null.
void release_when_idle(std::shared_ptr<pending_uses> first, std::shared_ptr<pending_uses> second,
                       std::vector<keep_alive_ref> owners) noexcept;

// Keeps owners until the work is done that the stream has when this object is destroyed.
class keep_until_idle {
 public:
  keep_until_idle(stream_ref stream, call_site at) noexcept : stream_{stream}, at_{at} {}
  keep_until_idle(const keep_until_idle&) = delete;
  keep_until_idle& operator=(const keep_until_idle&) = delete;
  ~keep_until_idle();

  // Takes the owner. If it throws, the owner is released.
  void keep(keep_alive_ref owner);

 private:
  stream_ref stream_;
  call_site at_;
  std::shared_ptr<pending_uses> uses_;
  std::vector<keep_alive_ref> owners_;
};

}  // namespace weir::detail
