// SPDX-License-Identifier: Apache-2.0
// reactor/completion_queue_pool.hpp - hands out and takes back completion queues.
#pragma once

#include "reactor/completion_queue.hpp"

namespace weir::detail {

// Returns a queue of the reactor of `key.device`, attached to `key`: a pooled one if there is one,
// else a new one.
//
// Throws: std::bad_alloc.
// Thread safety: may be called from any thread.
[[nodiscard]] completion_queue& acquire_queue(const queue_key& key);

// Returns a detached queue without pending points to its reactor's pool. May be called from any
// thread.
void release_queue(completion_queue& idle) noexcept;

// Returns the queue that was created last; completion_queue::older() leads to all others. Queues
// are never destroyed.
[[nodiscard]] completion_queue* newest_queue() noexcept;

}  // namespace weir::detail
