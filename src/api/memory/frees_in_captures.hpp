// SPDX-License-Identifier: Apache-2.0
// api/memory/frees_in_captures.hpp - frees in streams that capture.
#pragma once

#include "driver/abi.hpp"

namespace weir::detail {

class pending_uses;

// Returns true if the stream is in a capture, valid or invalidated.
[[nodiscard]] bool is_in_capture(abi::CUstream stream) noexcept;

// Returns true if the driver refused a free because of a capture. In a capture it refuses memory
// from outside, and elsewhere a free may be unsafe during a capture.
[[nodiscard]] bool refused_for_capture(abi::CUresult answer, abi::CUstream stream) noexcept;

// Returns true if captured memory does not exist: its graph was not launched, or a launch has freed
// it.
[[nodiscard]] inline bool is_not_allocated(abi::CUresult answer,
                                           unsigned long long capture) noexcept {
  return capture != 0 && answer == abi::CUDA_ERROR_INVALID_VALUE;
}

// Returns the id of the stream's capture. 0 if it is in none, or in an invalidated one.
[[nodiscard]] unsigned long long capture_id_of(abi::CUstream stream) noexcept;

// Returns true if the open capture with this id has a record in which the stream is a participant.
[[nodiscard]] bool is_participant_of_capture(abi::CUstream stream, unsigned long long id) noexcept;

// Returns the stream in which to free memory of a stream of this capture. This is the capture's
// origin if the origin already waits for all work of the other stream. Otherwise it is the other
// stream, which must then be joined again, although a free is not expected to require that.
[[nodiscard]] abi::CUstream stream_for_free(abi::CUstream memory_stream,
                                            unsigned long long id) noexcept;

// Returns true if one of the streams is in a capture and the other is not. A wait between them
// would invalidate the capture or become part of it.
[[nodiscard]] bool crosses_capture_boundary(abi::CUstream stream, abi::CUstream memory_stream,
                                            const pending_uses* uses) noexcept;

}  // namespace weir::detail
