// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/memory_access.cpp - checks access by kind of memory.
#include "embedded/model/memory/memory_access.hpp"

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/address_space.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::model {

using namespace abi;

bool can_access(const memory_user& user, const allocation& record, std::uintptr_t address,
                std::size_t bytes, CUmemAccess_flags requested) noexcept {
  if (user.user_context == nullptr) return true;
  const device& user_device = user.user_context->owner();
  switch (record.kind) {
    case memory_kind::pinned:
    case memory_kind::registered:
    case memory_kind::managed_variable:
    case memory_kind::managed: return true;
    case memory_kind::device:
    case memory_kind::imported:
    case memory_kind::opened:
    case memory_kind::variable:
    case memory_kind::array:
      if (user.copies || record.memory_device == &user_device || record.owner_context == nullptr)
        return true;
      return record.owner_context == &user.user_context->base() ||
             user.user_context->base().has_peer_access_to(*record.owner_context);
    case memory_kind::pooled: {
      const memory_pool* const pool = record.pool;  // null if another thread frees the memory
      if (pool == nullptr || pool->location().is_managed()) return true;
      return (pool->access_of(user_device.ordinal()) & requested) == requested;
    }
    case memory_kind::mapped:
      return address_space::allows(user_device.ordinal(), address, bytes, requested);
    case memory_kind::graph:
      return (record.graph_users.load(std::memory_order_relaxed) >> user_device.ordinal() & 1) != 0;
  }
  return true;
}

}  // namespace weir::embedded::model
