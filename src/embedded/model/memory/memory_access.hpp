// model/memory_access.hpp - which device's work may use which memory, where there are several
// devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"

namespace weir::embedded::model {

struct allocation;
class context;

// Who uses memory in a call or a node. Where there is one device nobody is asked, for it reaches
// all that there is.
struct memory_user {
  context* user_context = nullptr;
  bool copies = false;
};

// The users of the two sides of a copy: one, but where the call names a context for each.
struct copy_users {
  memory_user to, from;
};

// May the user's device do this with some bytes of an allocation, or of mappings that begin in it?
// Its own memory it may use, and the host's; that of a pool, of a graph, or mapped, where it was
// let in. What a context of another device owns is copied by all, but used only where the user's
// context has peer access to that one.
[[nodiscard]] bool can_access(const memory_user& by, const allocation& in, std::uintptr_t address,
                              std::size_t bytes, abi::CUmemAccess_flags wanted) noexcept;

}  // namespace weir::embedded::model
