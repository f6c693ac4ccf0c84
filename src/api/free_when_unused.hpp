// api/free_when_unused.hpp - memory given back when the streams that used it are done with it.
#pragma once

#include "api/first_failure.hpp"
#include "api/reclaimer.hpp"
#include "api/use_list.hpp"

#include <memory>
#include <utility>

namespace weir::detail {

// Calls free(failure) once, without waiting: now if that is allowed and nothing uses the memory, else by weir's own
// thread as soon as it is. `failure` is what failed while the uses were asked for.
template <class Free>
void free_when_unused(std::unique_ptr<use_list> uses, Free free) noexcept {
  if (may_free() && uses == nullptr) {
    free(first_failure{});
    return;
  }
  defer([uses = std::move(uses), free = std::move(free), frozen = false, failure = first_failure{}]() mutable {
    if (!may_free()) return chore_result::capture_open;
    if (uses != nullptr && !std::exchange(frozen, true)) uses->freeze(failure);
    if (uses != nullptr && !uses->done()) return chore_result::busy;
    uses.reset();
    free(failure);
    return chore_result::done;
  });
}

}  // namespace weir::detail
