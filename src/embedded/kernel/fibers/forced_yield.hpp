// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/forced_yield.hpp - taking a thread of a block off its thread of the host, wherever
// it is.
#pragma once

#include <ucontext.h>

namespace weir::embedded::kernel {

// For a signal handler that has interrupted code of a kernel, of a thread with a stack of its own:
// when the handler returns, other threads of the block that can run do (block_threads::yield), and
// in the end it goes on where it was. False where the processor offers no way.
bool request_yield(ucontext_t& at) noexcept;

}  // namespace weir::embedded::kernel
