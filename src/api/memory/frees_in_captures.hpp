// api/memory/frees_in_captures.hpp - what becomes of frees in streams that capture.
#pragma once

#include "driver/abi.hpp"

namespace weir::detail {

class pending_uses;

// Is it in a capture, be that whole or broken?
[[nodiscard]] bool is_in_capture(abi::CUstream stream) noexcept;

// A capture takes memory from elsewhere for none that it could free, and a free in another stream
// for unsafe.
[[nodiscard]] bool refused_for_capture(abi::CUresult answer, abi::CUstream stream) noexcept;

// What that capture has made is not there to be freed: its graph was not launched, or a launch has
// freed it.
[[nodiscard]] inline bool is_not_allocated(abi::CUresult answer,
                                           unsigned long long capture) noexcept {
  return capture != 0 && answer == abi::CUDA_ERROR_INVALID_VALUE;
}

// 0 if the stream is in none, or in a broken one.
[[nodiscard]] unsigned long long capture_id_of(abi::CUstream stream) noexcept;

// Has weir seen the stream take part in the capture of that id, which is open?
[[nodiscard]] bool is_known_in_capture(abi::CUstream stream, unsigned long long id) noexcept;

// Where in the capture of that id to free memory of a stream of it: in the stream that it began in,
// if that has been given what comes after all of the other's work. The other would have to be
// joined again, which nobody expects of a block's end.
[[nodiscard]] abi::CUstream stream_for_free(abi::CUstream own, unsigned long long id) noexcept;

// Does an order between them lead into a capture, or out of one? It would break the capture, or
// become a part of it.
[[nodiscard]] bool crosses_capture_boundary(abi::CUstream stream, abi::CUstream own,
                                            const pending_uses* uses) noexcept;

}  // namespace weir::detail
