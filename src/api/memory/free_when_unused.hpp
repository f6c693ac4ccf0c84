// api/memory/free_when_unused.hpp - memory given back when the streams that used it are done with it.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/memory/use_list.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace weir::detail {

// Has weir's own thread call free(failure), once, as soon as it is allowed and nothing uses the memory any more.
// `failure` is what failed while the uses were asked for; a free that answers a chore_result may ask to be called again.
// Nobody waits here.
template <class Free>
void free_when_unused(std::unique_ptr<use_list> uses, Free free) noexcept {
  defer([uses = std::move(uses), free = std::move(free), frozen = false, failure = first_failure{}]() mutable {
    if (!may_free()) return chore_result::capture_open;
    if (uses != nullptr && !frozen && !uses->freeze_unless_captured(failure)) return chore_result::capture_open;
    frozen = true;
    if (uses != nullptr && !uses->done()) return chore_result::busy;
    uses.reset();
    if constexpr (std::is_void_v<std::invoke_result_t<Free&, first_failure>>) {
      free(failure);
      return chore_result::done;
    } else {
      return free(failure);
    }
  });
}

}  // namespace weir::detail
