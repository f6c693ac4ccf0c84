// api/deferred/let_go_after.cpp - owners that go when work that may use them is done.
#include "api/deferred/let_go_after.hpp"

#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"

#include <utility>

namespace weir::detail {

void let_go_after(std::shared_ptr<use_list> first, std::shared_ptr<use_list> second,
                  std::vector<owner_share> owners) noexcept {
  defer([first = std::move(first), second = std::move(second), owners = std::move(owners), frozen = false]() mutable {
    if (!may_free()) return chore_result::capture_open;
    use_list* const lists[] = {first.get(), second.get()};
    for (use_list* const list : lists) {
      if (list == nullptr || frozen) continue;
      first_failure failure;  // a stream that cannot be marked is asked itself
      if (!list->freeze_unless_captured(failure)) return chore_result::capture_open;
    }
    frozen = true;
    for (const use_list* const list : lists) {
      if (list != nullptr && !list->done()) return chore_result::busy;
    }
    for (owner_share& each : owners) {
      shared_owner* const owner = each.release();
      if (owner != nullptr && owner_share::drop(*owner)) leave_program_chore(*owner);
    }
    first.reset();
    second.reset();
    return chore_result::done;
  });
}

}  // namespace weir::detail
