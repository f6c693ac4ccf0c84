// api/deferred/release_when_idle.hpp - owners that go when work that may use them is done.
#pragma once

#include "api/memory/pending_uses.hpp"

#include <weir/detail/keep_alive.hpp>

#include <memory>
#include <vector>

namespace weir::detail {

// Has weir's own thread let go of the owners when the work of either list is done. A list may be
// null.
void release_when_idle(std::shared_ptr<pending_uses> first, std::shared_ptr<pending_uses> second,
                       std::vector<keep_alive_ref> owners) noexcept;

}  // namespace weir::detail
