// api/deferred/kept_owner.cpp - the memory that parameters of nodes name.
#include <weir/detail/kept_owner.hpp>

#include "api/core/check.hpp"

namespace weir::detail {

node_memory memory_of_region(const region& where, owner_share keeps, call_site at) {
  if (where.owner != nullptr && where.owner->closed()) {
    fail_closed("weir::graph_ref::add", subject::memory(where.address), at);
  }
  return {where.address, where.bytes, where.owner == nullptr ? nullptr : where.owner->device_context(),
          std::move(keeps)};
}

void refuse_null_pointer(call_site at) {
  fail(errc::invalid_value, "weir::graph_ref::add", "a null pointer", "point to what the node is to use", at);
}

}  // namespace weir::detail
