// entry/context_flags.hpp - which CU_CTX_* go together.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::entry {

// At most one way to wait, and of the rest only what `others` allows. Bit 0x10 has lost its name
// and is still taken.
[[nodiscard]] constexpr bool valid_context_flags(unsigned flags, unsigned others) noexcept {
  const unsigned scheduling = flags & abi::CU_CTX_SCHED_MASK;
  if ((scheduling & (scheduling - 1)) != 0) return false;
  constexpr unsigned always = 0x10 | abi::CU_CTX_COREDUMP_ENABLE |
                              abi::CU_CTX_USER_COREDUMP_ENABLE | abi::CU_CTX_SYNC_MEMOPS;
  return (flags & ~(abi::CU_CTX_SCHED_MASK | always | others)) == 0;
}

}  // namespace weir::embedded::entry
