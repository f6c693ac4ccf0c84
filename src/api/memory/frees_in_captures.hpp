// SPDX-License-Identifier: Apache-2.0
// api/memory/frees_in_captures.hpp - decides how memory is freed while streams are capturing.
#pragma once

#include "driver/abi.hpp"

namespace weir::detail {

struct captured_memory;
class pending_uses;

// Returns true if `answer`, the result of a free in `stream`, is a refusal because of a capture. In
// a capturing stream every failure counts, because the driver refuses to free memory that was not
// allocated in the capture. In another stream a capture may make the free an unsafe call.
[[nodiscard]] bool refused_for_capture(abi::CUresult answer, abi::CUstream stream) noexcept;

// Returns true if `answer`, the result of a free, says that the memory does not exist: its graph
// was not launched, or a launch has freed it. `capture` is null if the memory was not allocated in
// a capture; only captured memory may be missing.
[[nodiscard]] inline bool is_not_allocated(abi::CUresult answer,
                                           const captured_memory* capture) noexcept {
  return capture != nullptr && answer == abi::CUDA_ERROR_INVALID_VALUE;
}

// Returns true if weir knows that the stream takes part in the open capture with this id.
[[nodiscard]] bool is_participant_of_capture(abi::CUstream stream, unsigned long long id) noexcept;

// Returns the stream in which to free memory that belongs to `memory_stream`, a stream of the
// capture with the id `id`. This is the origin stream of the capture if it already waits for all
// captured work of `memory_stream`.
//
// Otherwise it is `memory_stream` itself. The program must then join that stream again after the
// free, which it may not expect. Therefore the origin is preferred.
[[nodiscard]] abi::CUstream stream_for_free(abi::CUstream memory_stream,
                                            unsigned long long id) noexcept;

// Returns true if `stream` is in a capture and `memory_stream` or one of the streams in `uses` is
// not, or the other way round. A wait between two such streams would invalidate the capture or
// become part of it. `uses` may be null.
[[nodiscard]] bool crosses_capture_boundary(abi::CUstream stream, abi::CUstream memory_stream,
                                            const pending_uses* uses) noexcept;

}  // namespace weir::detail
