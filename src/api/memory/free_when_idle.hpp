// api/memory/free_when_idle.hpp - memory given back when the streams that used it are done with it.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/memory/pending_uses.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace weir::detail {

// Has weir's own thread call free(failure), once, as soon as it is allowed and nothing uses the
// memory any more. `failure` is what failed while the uses were asked for; a free that answers a
// task_result may ask to be called again. Nobody waits here.
template <class Free>
void free_when_idle(std::unique_ptr<pending_uses> uses, Free free) noexcept {
  defer([uses = std::move(uses), free = std::move(free), snapshot_taken = false,
         failure = first_failure{}]() mutable {
    if (!can_free_now()) return task_result::capture_active;
    if (uses != nullptr && !snapshot_taken && !uses->snapshot_unless_captured(failure))
      return task_result::capture_active;
    snapshot_taken = true;
    if (uses != nullptr && !uses->done()) return task_result::busy;
    uses.reset();
    if constexpr (std::is_void_v<std::invoke_result_t<Free&, first_failure>>) {
      free(failure);
      return task_result::done;
    } else {
      return free(failure);
    }
  });
}

}  // namespace weir::detail
