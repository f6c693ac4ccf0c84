// SPDX-License-Identifier: Apache-2.0
// weir/memory/managed_buffer.hpp - memory with one address for the host and all devices, which
// migrates to the processor that uses it.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/detail/unordered_memory.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/managed_memory.hpp>

#include <cstddef>

namespace weir {

/// Owns `size` elements of uninitialised managed memory.
///
/// The host reads and writes it like an array; kernels and copies of every device use the address
/// that the host uses. The driver migrates pages to the processor that accesses them; prefetch()
/// and advise() (managed_memory.hpp) announce accesses. The program has to order the accesses: the
/// host must wait for the work that uses the memory before it accesses it.
/// On a device without device_attribute::concurrent_managed_access, the host may access the buffer
/// only while that device is idle, or after attach() (managed_memory.hpp) has excluded the streams
/// of that device.
/// Destroying a buffer while work queued through weir uses it is allowed: weir's own thread frees
/// the memory when that work is done. For work that weir did not queue, call used_on().
/// T must be trivially copyable. An empty buffer owns nothing. Common members such as data() and
/// operator[] are in typed_memory.hpp. Move-only. A moved-from or closed buffer throws `closed`
/// when used.
///
/// In a capture: allocating is allowed if the capture was begun through weir, and is not captured.
/// In a capture that was started directly through the driver, the driver refuses to allocate and
/// invalidates the capture. Closing and destroying a buffer invalidates no capture.
/// Thread safety: copies from the buffer may be queued from several threads; all other members need
/// exclusive access.
template <class T>
class managed_buffer : public detail::host_array<T, detail::unordered_memory> {
  using elements = detail::host_array<T, detail::unordered_memory>;

 public:
  /// Allocates in the primary context of `gpu`. `visibility` says which streams may use the memory
  /// at first: all (attachment::global), or none until attach() is called (attachment::host). The
  /// driver refuses attachment::stream here. The choice matters only on devices without
  /// device_attribute::concurrent_managed_access. If the constructor throws, nothing was allocated.
  ///
  /// Throws: `out_of_memory`.
  /// Driver: cuMemAllocManaged.
  explicit managed_buffer(std::size_t size, device gpu = device{},
                          attachment visibility = attachment::global,
                          call_site at = call_site::current())
      : elements{detail::allocation_kind::managed,  size, sizeof(T), gpu,
                 static_cast<unsigned>(visibility), at} {}

  /// Moves the buffer. Destroying or overwriting a buffer never blocks: weir's own thread frees the
  /// memory when the work of the recorded streams is done. A GPU's driver waits for the whole
  /// device during the free, which blocks only that thread. Errors go to
  /// set_unhandled_error_handler.
  managed_buffer(managed_buffer&&) noexcept = default;
  /// Frees the memory that this buffer held, like the destructor, and takes over the memory of the
  /// other buffer.
  managed_buffer& operator=(managed_buffer&&) noexcept = default;

  /// Waits for the streams that use the buffer, frees the memory now and reports errors. A second
  /// call does nothing.
  ///
  /// Throws: `stream_capture_unsupported`, with nothing changed, while a stream that used the
  /// buffer captures.
  /// Driver: cuEventSynchronize, cuMemFree.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  using elements::memory_;
};

}  // namespace weir
