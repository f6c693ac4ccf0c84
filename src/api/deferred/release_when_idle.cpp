// api/deferred/release_when_idle.cpp - owners that go when work that may use them is done.
#include "api/deferred/release_when_idle.hpp"

#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"

#include <utility>

namespace weir::detail {

void release_when_idle(std::shared_ptr<pending_uses> first, std::shared_ptr<pending_uses> second,
                       std::vector<keep_alive_ref> owners) noexcept {
  defer([first = std::move(first), second = std::move(second), owners = std::move(owners),
         snapshot_taken = false]() mutable {
    if (!can_free_now()) return task_result::capture_active;
    pending_uses* const lists[] = {first.get(), second.get()};
    for (pending_uses* const list : lists) {
      if (list == nullptr || snapshot_taken) continue;
      first_failure failure;  // a stream that cannot be marked is asked itself
      if (!list->snapshot_unless_captured(failure)) return task_result::capture_active;
    }
    snapshot_taken = true;
    for (const pending_uses* const list : lists) {
      if (list != nullptr && !list->done()) return task_result::busy;
    }
    for (keep_alive_ref& each : owners) {
      keep_alive* const owner = each.release();
      if (owner != nullptr && keep_alive_ref::release_reference(*owner))
        defer_user_destructor(*owner);
    }
    first.reset();
    second.reset();
    return task_result::done;
  });
}

}  // namespace weir::detail
