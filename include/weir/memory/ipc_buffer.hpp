// SPDX-License-Identifier: Apache-2.0
// weir/memory/ipc_buffer.hpp - device memory that several processes of one host share.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/detail/unordered_memory.hpp>
#include <weir/device/device.hpp>

#include <cstddef>
#include <type_traits>

namespace weir {

/// Identifies device memory to other processes: 64 bytes to be sent unchanged. Valid while the
/// memory and the process that allocated it exist, for processes of one user on one host.
struct ipc_memory_handle {
  unsigned char bytes[64];
};

static_assert(std::is_trivially_copyable_v<ipc_memory_handle> && sizeof(ipc_memory_handle) == 64);

namespace detail {

/// Untyped interprocess memory: the part of ipc_buffer that does not depend on the element type.
class WEIR_EXPORT ipc_memory : public unordered_memory {
 public:
  ipc_memory(std::size_t count, std::size_t element_bytes, device gpu, call_site at);
  ipc_memory(const ipc_memory_handle& handle, device gpu, std::size_t element_bytes,
             call_site at);  // opens memory of another process

  [[nodiscard]] ipc_memory_handle handle(call_site at) const;
  [[nodiscard]] bool opened() const noexcept { return opened_; }

 private:
  bool opened_ = false;
};

}  // namespace detail

/// Owns `size` elements of uninitialised device memory that other processes may open with a handle.
///
/// All processes access one memory, each at an address of its own. Order their work with
/// interprocess events (ipc_event.hpp). The driver gives no such handle for memory from a pool,
/// such as a buffer; ipc_pool.hpp shares that. Allocating and freeing is slow and waits for work,
/// so keep the buffer.
/// The process that allocated the memory must free it last: the driver leaves it undefined what
/// happens to memory that others still have open. Memory that others have open outlives the process
/// that allocated it.
/// Destroying a buffer while work queued through weir uses it is allowed: the memory is freed when
/// that work is done. For work that weir did not queue, call used_on().
/// T must be trivially copyable and identical in all processes. Common members such as data() and
/// size() are in typed_memory.hpp. Move-only. A moved-from or closed buffer throws `closed` when
/// used.
///
/// In a capture: creating, opening and closing is allowed in every thread, and not part of the
/// capture.
/// Thread safety: const members, and copies from the buffer, may run in several threads; all others
/// need exclusive access.
template <class T>
class ipc_buffer : public detail::typed_memory<T, detail::ipc_memory> {
  using elements = detail::typed_memory<T, detail::ipc_memory>;

 public:
  /// Allocates in the primary context of `gpu`. If the constructor throws, nothing was allocated.
  ///
  /// Throws: `out_of_memory`.
  /// Driver: cuMemAlloc.
  explicit ipc_buffer(std::size_t size, device gpu = device{}, call_site at = call_site::current())
      : elements{size, sizeof(T), gpu, at} {}

  /// Opens all memory of another process's buffer; size() follows from the size of that memory.
  /// Memory opened twice is one memory and must be closed twice.
  ///
  /// Throws: `invalid_context` in the process that allocated the memory. For a handle that is not
  /// valid, the driver's error: `invalid_value`, `map_failed`, or `invalid_handle` if the process
  /// that allocated it has ended.
  /// Driver: cuIpcOpenMemHandle, cuMemGetAddressRange.
  [[nodiscard]] static ipc_buffer open(const ipc_memory_handle& handle, device gpu = device{},
                                       call_site at = call_site::current()) {
    return ipc_buffer{detail::ipc_memory{handle, gpu, sizeof(T), at}};
  }

  /// Moves the buffer. When a buffer is destroyed or overwritten, only weir's own thread waits for
  /// the work that uses the memory, and then frees or closes it. Errors go to
  /// set_unhandled_error_handler.
  ipc_buffer(ipc_buffer&&) noexcept = default;
  /// Gives up the memory that this buffer held, like the destructor, and takes over the other
  /// buffer's.
  ipc_buffer& operator=(ipc_buffer&&) noexcept = default;

  /// Returns the handle with which other processes open the memory; equal in every call.
  ///
  /// Throws: `invalid_value` for an empty buffer, or for memory that was opened here.
  /// Driver: cuIpcGetMemHandle.
  [[nodiscard]] ipc_memory_handle handle(call_site at = call_site::current()) const {
    return memory_.handle(at);
  }

  /// Returns true if the memory belongs to another process and was opened here.
  [[nodiscard]] bool opened() const noexcept { return memory_.opened(); }

  /// Waits for the streams that use the memory, then frees it, or closes it if it was opened here.
  /// Reports errors. A second call does nothing.
  ///
  /// Throws: `stream_capture_unsupported`, with nothing changed, while a stream that used the
  /// buffer captures.
  /// Driver: cuEventSynchronize, cuMemFree or cuIpcCloseMemHandle.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  explicit ipc_buffer(detail::ipc_memory&& memory) noexcept
      : elements{static_cast<detail::ipc_memory&&>(memory)} {}

  using elements::memory_;
};

}  // namespace weir
