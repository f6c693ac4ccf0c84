// api/completion/completion_access.hpp - the lanes of streams, for completions.
#pragma once

#include "reactor/completion_queue.hpp"

#include <weir/completion/completion.hpp>
#include <weir/detail/completion_access.hpp>
#include <weir/stream/stream.hpp>

namespace weir::detail {

// The lane of a stream, found or made, and the life in which it is that. Throws std::bad_alloc, and
// what asking the driver fails with.
[[nodiscard]] completion_queue& queue_of(CUstream stream, std::uint64_t& generation,
                                         const char* call, call_site at);

// What may refuse a completion of the stream is asked before something is queued that it is to be
// the end of; the lane is there afterwards. Throws as stream_ref::completion() does.
completion_queue& prepare_completion(stream_ref stream, const char* call, call_site at);

// The stream of weir's is gone, and its handle may come back.
void forget_queue(CUstream stream) noexcept;

}  // namespace weir::detail
