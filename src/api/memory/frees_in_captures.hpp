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

// Returns the id of the open capture that records the free of memory that `allocated` describes.
// Its streams include `memory_stream`. It is the capture that allocated the memory, or a later one
// that the calling thread began into the graph of that capture. Returns no_capture if there is
// none, or if `allocated` is null.
[[nodiscard]] unsigned long long freeing_capture(abi::CUstream memory_stream,
                                                 const captured_memory* allocated) noexcept;

// The streams of a free, and what weir knows of the memory.
struct planned_free {
  abi::CUstream stream;              // the free is queued in it
  abi::CUstream memory_stream;       // the memory belongs to it
  const pending_uses* uses;          // of the memory
  pending_uses* launches;            // of the graph that allocates it; null if there are none
  const captured_memory* allocated;  // null if the memory was not allocated in a capture
  unsigned long long freeing;        // the result of freeing_capture()
};

// Returns true if the free may wait for the stream of the memory, the uses and the launches. A wait
// between two captures, or between a capture and a stream outside it, would break a capture or
// become part of it. In the capture `freeing`, uses outside it need no wait: they are part of other
// captures, whose nodes the program orders.
//
// If a later capture into the graph frees memory that an earlier one allocated, makes the next
// operation of the stream depend on all nodes of the graph. Returns false if that fails.
[[nodiscard]] bool prepare_free(const planned_free& plan) noexcept;

}  // namespace weir::detail
