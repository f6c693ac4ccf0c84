// api/deferred/let_go_after.hpp - owners that go when work that may use them is done.
#pragma once

#include "api/memory/use_list.hpp"

#include <weir/detail/kept_owner.hpp>

#include <memory>
#include <vector>

namespace weir::detail {

// Has weir's own thread let go of the owners when the work of either list is done. A list may be null.
void let_go_after(std::shared_ptr<use_list> first, std::shared_ptr<use_list> second,
                  std::vector<owner_share> owners) noexcept;

}  // namespace weir::detail
