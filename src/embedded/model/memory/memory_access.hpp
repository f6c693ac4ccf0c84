// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/memory_access.hpp - which device may access which memory, with several
// devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"

namespace weir::embedded::model {

struct allocation;
class context;

// The user of memory in a call or graph node: the context whose access is checked. If the context
// is null, nothing is checked. It is null if the process has a single device, which may access all
// memory.
struct memory_user {
  context* user_context = nullptr;
  // True if the use is a copy, which needs no peer access to the memory of another context.
  bool copies = false;
};

// The users of the destination and the source of a copy. They differ only for calls that name a
// context for each side, such as cuMemcpyPeer.
struct copy_users {
  memory_user dst, src;
};

// Returns true if the user's device has the `requested` access to `bytes` bytes from `address` on,
// which lie in the allocation `record`. If `record` is a mapping, the bytes may extend into the
// mappings after it.
//
// A device may access its own memory and host memory. It may access memory of pools and graphs, and
// mappings, if access was granted. Memory owned by another device's context can always be copied;
// other use needs peer access to that context.
[[nodiscard]] bool can_access(const memory_user& user, const allocation& record,
                              std::uintptr_t address, std::size_t bytes,
                              abi::CUmemAccess_flags requested) noexcept;

}  // namespace weir::embedded::model
