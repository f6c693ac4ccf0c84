// SPDX-License-Identifier: Apache-2.0
// weir/memory/pinned_buffer.hpp - page-locked host memory for asynchronous copies.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/detail/unordered_memory.hpp>
#include <weir/device/device.hpp>

#include <cstddef>

namespace weir {

/// Owns `size` elements of uninitialised pinned (page-locked) host memory, for asynchronous copies.
///
/// The host reads and writes it like an array. Every device can copy from and to it, and access it
/// directly.
/// Destroying a buffer while a copy uses it is allowed: weir's operations record the streams on
/// which they use the buffer. weir's own thread frees the memory when the work of these streams is
/// done. For work that weir did not queue, call used_on().
/// T must be trivially copyable. An empty buffer owns nothing. Common members such as data() and
/// operator[] are in typed_memory.hpp. Move-only. A moved-from or closed buffer throws `closed`
/// when used.
///
/// In a capture: allocating is allowed if the capture was begun through weir, and is not captured.
/// In a capture that was started directly through the driver, the driver refuses to allocate and
/// invalidates the capture. Closing and destroying a buffer invalidates no capture.
/// Thread safety: copies from the buffer may be queued from several threads; all other members need
/// exclusive access.
/// Cost: allocating and freeing takes tens of microseconds; keep the buffer.
template <class T>
class pinned_buffer : public detail::host_array<T, detail::unordered_memory> {
  using elements = detail::host_array<T, detail::unordered_memory>;

 public:
  /// Allocates in the primary context of `gpu`; all devices may use the memory. If the constructor
  /// throws, nothing was allocated.
  ///
  /// Driver: cuMemHostAlloc (portable).
  explicit pinned_buffer(std::size_t size, device gpu = device{},
                         call_site at = call_site::current())
      : elements{detail::allocation_kind::pinned, size, sizeof(T), gpu,
                 detail::pinned_for_all_devices,  at} {}

  /// Moves the buffer. Destroying or overwriting a buffer never blocks: weir's own thread frees the
  /// memory when the work of the recorded streams is done. A GPU's driver may wait for the whole
  /// device during the free, which blocks only that thread. Errors go to
  /// set_unhandled_error_handler.
  ///
  /// Driver: cuMemFreeHost.
  pinned_buffer(pinned_buffer&&) noexcept = default;
  /// Frees the memory that this buffer held, like the destructor, and takes over the memory of the
  /// other buffer.
  pinned_buffer& operator=(pinned_buffer&&) noexcept = default;

  /// Waits for the streams that use the buffer, frees the memory now and reports errors. A second
  /// call does nothing.
  ///
  /// Throws: `stream_capture_unsupported`, with nothing changed, while a stream that used the
  /// buffer captures.
  /// Driver: cuEventSynchronize, cuMemFreeHost.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  using elements::memory_;
};

}  // namespace weir
