// SPDX-License-Identifier: Apache-2.0
// api/deferred/keep_alive.cpp - the memory that parameters of graph nodes refer to, and the error
// for an owner of it that is null.
#include <weir/detail/keep_alive.hpp>

#include "api/core/check.hpp"

namespace weir::detail {

node_memory memory_of_region(const region& where, keep_alive_ref owner, call_site at) {
  if (where.owner != nullptr && where.owner->closed()) {
    throw_closed("weir::graph_ref::add", subject::memory(where.address), at);
  }
  return {where.address, where.bytes,
          where.owner == nullptr ? nullptr : where.owner->device_context(), std::move(owner)};
}

void throw_null_pointer(call_site at) {
  throw_error(errc::invalid_value, "weir::graph_ref::add", "a null pointer",
              "the pointer is null; pass a pointer to the object that the node uses", at);
}

}  // namespace weir::detail
