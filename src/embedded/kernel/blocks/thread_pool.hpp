// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/thread_pool.hpp - threads of the host that are needed at the same time.
#pragma once

namespace weir::embedded::kernel {

// Calls body(argument, number) for each number below `count`, each on a thread of its own, the last
// one on the calling thread; returns when all have returned. False, and nothing was called, where
// there are not so many threads to be had. Threads are kept for the next time, up to some number.
//
// Thread safety: any thread.
using pool_body = void (*)(void* argument, unsigned number) noexcept;
[[nodiscard]] bool run_on_thread_pool(unsigned count, pool_body body, void* argument) noexcept;

}  // namespace weir::embedded::kernel
