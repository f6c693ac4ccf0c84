// SPDX-License-Identifier: Apache-2.0
// api/completion/completion_access.hpp - the completion queues of streams.
#pragma once

#include "reactor/completion_queue.hpp"

#include <weir/completion/completion.hpp>
#include <weir/detail/completion_access.hpp>
#include <weir/stream/stream.hpp>

namespace weir::detail {

// Returns the queue of a stream, and in `generation` the generation that serves it; creates the
// queue if there is none. Throws: std::bad_alloc; driver errors.
[[nodiscard]] completion_queue& queue_of(CUstream stream, std::uint64_t& generation,
                                         const char* call, call_site at);

// Checks that a completion of the stream is possible and creates its queue. Called before work is
// enqueued that needs a completion. Throws: as stream_ref::completion().
completion_queue& prepare_completion(stream_ref stream, const char* call, call_site at);

// Detaches the queues of a stream that weir has destroyed, because its handle may be reused.
void forget_queue(CUstream stream) noexcept;

}  // namespace weir::detail
