// SPDX-License-Identifier: Apache-2.0
// api/completion/completion_access.hpp - the completion queues of streams.
#pragma once

#include "reactor/completion_queue.hpp"

#include <weir/completion/completion.hpp>
#include <weir/detail/completion_access.hpp>
#include <weir/stream/stream.hpp>

namespace weir::detail {

// Returns the completion queue of a stream; creates the queue if there is none. After a stream is
// destroyed, its queue is reused for another stream. The queue's generation counts these reuses.
// Sets `generation` to the generation that belongs to this stream, or to any_generation if weir
// owns the stream and the caller need not check it.
//
// Throws: std::bad_alloc; driver errors.
[[nodiscard]] completion_queue& queue_of(CUstream stream, std::uint64_t& generation,
                                         const char* call, call_site at);

// Checks that a completion of the stream can be created, and creates its queue. Called before work
// is enqueued whose completion is needed, so that a failure leaves no work behind. Throws: as
// stream_ref::completion().
completion_queue& prepare_completion(stream_ref stream, const char* call, call_site at);

// Detaches the queues of a stream that weir has destroyed or given to other code. The driver may
// give the handle to another stream, which must not find these queues.
void forget_queue(CUstream stream) noexcept;

}  // namespace weir::detail
