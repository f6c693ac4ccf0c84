// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/context_flags.hpp - validates CU_CTX_* flags.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::entry {

// Returns true if `flags` has at most one scheduling flag, and apart from it only flags in
// `other_flags` or flags that are always allowed. Bit 0x10 is CU_CTX_LMEM_RESIZE_TO_MAX, which
// driver/abi.hpp does not declare. The flag is deprecated, but drivers still accept it.
[[nodiscard]] constexpr bool valid_context_flags(unsigned flags, unsigned other_flags) noexcept {
  const unsigned scheduling = flags & abi::CU_CTX_SCHED_MASK;
  if ((scheduling & (scheduling - 1)) != 0) return false;
  constexpr unsigned always = 0x10 | abi::CU_CTX_COREDUMP_ENABLE |
                              abi::CU_CTX_USER_COREDUMP_ENABLE | abi::CU_CTX_SYNC_MEMOPS;
  return (flags & ~(abi::CU_CTX_SCHED_MASK | always | other_flags)) == 0;
}

}  // namespace weir::embedded::entry
