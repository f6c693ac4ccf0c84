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

// The user of memory in a call or node. A null context skips the check: a single device may access
// all memory.
struct memory_user {
  context* user_context = nullptr;
  bool copies = false;
};

// The users of both sides of a copy. They differ only if the call names a context for each side.
struct copy_users {
  memory_user dst, src;
};

// Returns true if the user's device has this access to bytes of an allocation, or of mappings that
// begin in it.
//
// A device may access its own memory and host memory. It may access memory of pools and graphs, and
// mappings, if access was granted. Memory owned by another device's context can always be copied;
// other use needs peer access to that context.
[[nodiscard]] bool can_access(const memory_user& user, const allocation& record,
                              std::uintptr_t address, std::size_t bytes,
                              abi::CUmemAccess_flags requested) noexcept;

}  // namespace weir::embedded::model
