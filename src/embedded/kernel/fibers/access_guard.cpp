// SPDX-License-Identifier: Apache-2.0
// embedded/kernel/fibers/access_guard.cpp - the jump out of a refused access.
#include "embedded/kernel/fibers/access_guard.hpp"

namespace weir::embedded::kernel {

constinit thread_local access_guard* access_guard::active_ = nullptr;

void access_guard::leave(const void* address) noexcept {
  refused_address_ = address;
#if defined(__x86_64__)
  __builtin_longjmp(landing_, 1);
#else
  siglongjmp(landing_, 1);
#endif
}

}  // namespace weir::embedded::kernel
