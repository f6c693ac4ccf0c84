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

/// Identifies device memory to other processes: 64 bytes that can be sent unchanged over a pipe, a
/// socket or a file. Valid while the memory and the process that allocated it exist. Processes of
/// the same user on the same host can open it.
struct ipc_memory_handle {
  unsigned char bytes[64];
};

static_assert(std::is_trivially_copyable_v<ipc_memory_handle> && sizeof(ipc_memory_handle) == 64);

namespace detail {

/// Untyped interprocess memory: the part of ipc_buffer that does not depend on the element type.
class WEIR_EXPORT ipc_memory : public unordered_memory {
 public:
  using unordered_memory::unordered_memory;
  ipc_memory(const ipc_memory_handle& handle, device gpu, std::size_t element_bytes,
             call_site at);  // opens memory of another process

  [[nodiscard]] ipc_memory_handle handle(call_site at) const;
  [[nodiscard]] bool opened() const noexcept { return opened_; }

 private:
  bool opened_ = false;  ///< true if the memory belongs to another process
};

}  // namespace detail

/// Owns `size` elements of uninitialised device memory that other processes may open with a handle.
///
/// All processes access one memory, each at an address of its own. Order their work with
/// interprocess events (ipc_event.hpp). The driver gives no such handle for memory from a pool,
/// which weir::buffer uses; share that memory with ipc_pool.hpp. Allocating and freeing an
/// ipc_buffer is slow and waits for work of the device, so create it once and keep it.
/// The process that allocated the memory must free it after all other processes have closed it;
/// otherwise the driver defines no result. If the process that allocated the memory ends without
/// freeing it, the memory stays valid for the processes that have it open.
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
      : elements{detail::allocation_kind::device, size, sizeof(T), gpu, 0u, at} {}

  /// Opens the memory of an ipc_buffer of another process, all of it. size() follows from the size
  /// of that memory. If a process opens the memory twice, both buffers refer to the one memory, and
  /// both must be closed.
  ///
  /// Throws: `invalid_context` in the process that allocated the memory. For a handle that is not
  /// valid, the driver's error: `invalid_value`, `map_failed`, or `invalid_handle` if the process
  /// that allocated the memory has ended.
  /// Driver: cuIpcOpenMemHandle, cuMemGetAddressRange.
  [[nodiscard]] static ipc_buffer open(const ipc_memory_handle& handle, device gpu = device{},
                                       call_site at = call_site::current()) {
    return ipc_buffer{detail::ipc_memory{handle, gpu, sizeof(T), at}};
  }

  /// Moves the buffer. Destroying or overwriting a buffer does not block: weir's own thread waits
  /// for the work that uses the memory, and then frees it, or closes it if it was opened here.
  /// Errors go to set_unhandled_error_handler.
  ipc_buffer(ipc_buffer&&) noexcept = default;
  /// Gives up the memory that this buffer held, like the destructor, and takes over the memory of
  /// the other buffer.
  ipc_buffer& operator=(ipc_buffer&&) noexcept = default;

  /// Returns the handle with which other processes open the memory. Every call returns equal bytes.
  ///
  /// Throws: `invalid_value` for an empty buffer, or for memory that this process opened.
  /// Driver: cuIpcGetMemHandle.
  [[nodiscard]] ipc_memory_handle handle(call_site at = call_site::current()) const {
    return memory_.handle(at);
  }

  /// Returns true if the memory belongs to another process and open() opened it.
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
