// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/context_flags.hpp - validates CU_CTX_* flags.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::entry {

// Returns true if at most one scheduling flag is set, and otherwise only flags that are always
// allowed or in `other_flags`. Bit 0x10 has no name any more but is still accepted.
[[nodiscard]] constexpr bool valid_context_flags(unsigned flags, unsigned other_flags) noexcept {
  const unsigned scheduling = flags & abi::CU_CTX_SCHED_MASK;
  if ((scheduling & (scheduling - 1)) != 0) return false;
  constexpr unsigned always = 0x10 | abi::CU_CTX_COREDUMP_ENABLE |
                              abi::CU_CTX_USER_COREDUMP_ENABLE | abi::CU_CTX_SYNC_MEMOPS;
  return (flags & ~(abi::CU_CTX_SCHED_MASK | always | other_flags)) == 0;
}

}  // namespace weir::embedded::entry
