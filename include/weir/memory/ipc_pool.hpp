// SPDX-License-Identifier: Apache-2.0
// weir/memory/ipc_pool.hpp - stream-ordered memory that several processes of one host share.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/detail/unordered_memory.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/memory_pool.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>

namespace weir {

// A process creates a pool for sharing. It sends the pool as a file descriptor, and then each
// allocation as a handle:
//
//   weir::memory_pool pool{gpu, {.sharing = weir::pool_sharing::file_descriptor}};
//   send_descriptor(weir::export_fd(pool));  // over a local socket (SCM_RIGHTS)
//   weir::buffer<float> x{pool, s, n};
//   send(weir::handle_of(x));                // plain bytes
//
// Another process imports the pool and opens the memory:
//
//   auto theirs = weir::ipc_pool::import_fd(receive_descriptor(), gpu);
//   weir::ipc_pool_buffer<float> y{theirs, receive()};
//
// The host does not wait for the allocation. Interprocess events (ipc_event.hpp) order the work of
// the processes. They must order the allocation before the first use in another process, since the
// handle may arrive before the stream has reached the allocation. The memory
// must be freed only after every other process has closed it.

/// Identifies memory of a pool to other processes: 64 bytes that can be sent unchanged over a pipe,
/// a socket or a file. Valid while the memory exists, for processes that have imported the pool.
struct pool_memory_handle {
  unsigned char bytes[64];
};

static_assert(std::is_trivially_copyable_v<pool_memory_handle> && sizeof(pool_memory_handle) == 64);

/// Returns a file descriptor with which other processes import the pool. Each call creates a new
/// descriptor, which the caller has to close. The descriptor has the flag close-on-exec.
///
/// Throws: `invalid_value` for a default pool, and for a pool created without
/// pool_sharing::file_descriptor.
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Driver: cuMemPoolExportToShareableHandle.
[[nodiscard]] WEIR_EXPORT int export_fd(memory_pool_ref pool, call_site at = call_site::current());

/// Returns the handle with which other processes open memory of a shared pool. Every call returns
/// equal bytes. `address` must be the address of a whole allocation, which its stream need not have
/// reached yet.
///
/// Throws: `invalid_value` if the memory's pool is not shared, or if export_fd() has not been
/// called for the pool yet.
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Driver: cuMemPoolExportPointer.
[[nodiscard]] WEIR_EXPORT pool_memory_handle handle_of(const void* address,
                                                       call_site at = call_site::current());
/// Returns the handle with which other processes open the memory of a buffer from a shared pool.
///
/// Throws: `invalid_value` if the buffer's pool is not shared, or if export_fd() has not been
/// called for the pool yet.
/// Driver: cuMemPoolExportPointer.
template <class T>
[[nodiscard]] pool_memory_handle handle_of(const buffer<T>& memory,
                                           call_site at = call_site::current()) {
  return handle_of(static_cast<const void*>(memory.data()), at);
}

class ipc_pool;

namespace detail {

struct pool_import;

/// Releases a reference to an import. The last reference ends the import. Errors go to the
/// unhandled-error handler.
struct pool_import_deleter {
  WEIR_EXPORT void operator()(pool_import* import) const noexcept;
};

/// Untyped memory of an imported pool: the part of ipc_pool_buffer that does not depend on the
/// element type.
class WEIR_EXPORT ipc_pool_memory : public unordered_memory {
 public:
  ipc_pool_memory(const ipc_pool& pool, const pool_memory_handle& handle, std::size_t element_bytes,
                  call_site at);
};

}  // namespace detail

/// Owns the import of another process's pool. Memory that the other process allocates from the pool
/// can be opened here (ipc_pool_buffer).
///
/// Drivers refuse to allocate from an imported pool and to query its attributes, so there are no
/// such members. The import ends when this object and all memory opened from it are destroyed, in
/// any order. The import stays valid after the end of the process that created the pool. A pool may
/// be imported several times: the driver has one import, which ends with the last object.
/// Move-only. A moved-from or closed pool throws `closed` when used.
///
/// Thread safety: memory may be opened from any thread; moving and closing need exclusive access.
class WEIR_EXPORT ipc_pool {
 public:
  /// Imports a pool by a descriptor that export_fd() returned in another process. The caller keeps
  /// the descriptor and may close it at any time. `gpu` is the pool's device, numbered as in this
  /// process.
  ///
  /// Throws: the driver's error (`unknown`) if the descriptor does not refer to a pool.
  /// In a capture: allowed.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuMemPoolImportFromShareableHandle.
  [[nodiscard]] static ipc_pool import_fd(int descriptor, weir::device gpu = weir::device{},
                                          call_site at = call_site::current());

  ipc_pool(ipc_pool&&) noexcept = default;
  /// Ends the import that this object held, as the destructor does, and takes over the import of
  /// the other object.
  ipc_pool& operator=(ipc_pool&&) noexcept = default;
  /// Ends the import, unless memory opened from it is still open. Never blocks. Errors go to
  /// set_unhandled_error_handler.
  ///
  /// In a capture: another thread ends the import later, if the capture was begun through weir.
  /// In a host function: another thread ends the import later.
  ~ipc_pool() = default;

  /// Closes this object and reports errors. The import ends now or, if memory opened from it is
  /// still open, with the last of that memory. A second call does nothing.
  ///
  /// Driver: cuMemPoolDestroy.
  void close(call_site at = call_site::current());
  /// Returns true if the object owns no import: it was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return import_ == nullptr; }

  /// Returns the device of the pool, numbered as in this process.
  [[nodiscard]] weir::device device() const noexcept;
  /// Returns the driver's handle, valid while this object or memory opened from it is open.
  [[nodiscard]] CUmemPoolHandle_st* get() const noexcept;

 private:
  friend class detail::ipc_pool_memory;
  explicit ipc_pool(detail::pool_import* import) noexcept : import_{import} {}

  std::unique_ptr<detail::pool_import, detail::pool_import_deleter> import_;  ///< null if closed
};

/// Memory that another process allocated from a pool and that this process has opened, the whole
/// allocation. size() follows from the size of the allocation. Closing it does not free it.
///
/// The other process must free the memory after this process has closed it; otherwise drivers
/// define no result. Memory that is opened twice has one address, and the driver closes it with the
/// last buffer. Destroying a buffer while work queued through weir uses it is allowed: the memory
/// is closed when that work is done. For work that weir did not queue, call used_on().
/// T must be trivially copyable and identical in all processes. Common members such as data() and
/// size() are in typed_memory.hpp. Move-only. A moved-from or closed buffer throws `closed` when
/// used.
///
/// Thread safety: const members, and copies from the buffer, may run in several threads; all others
/// need exclusive access.
template <class T>
class ipc_pool_buffer : public detail::typed_memory<T, detail::ipc_pool_memory> {
  using elements = detail::typed_memory<T, detail::ipc_pool_memory>;

 public:
  /// Opens memory of an imported pool.
  ///
  /// Throws: `invalid_value` if the handle is not of this pool's memory.
  /// In a capture: allowed.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuMemPoolImportPointer, cuMemGetAddressRange.
  ipc_pool_buffer(const ipc_pool& pool, const pool_memory_handle& handle,
                  call_site at = call_site::current())
      : elements{pool, handle, sizeof(T), at} {}

  /// Moves the buffer. Destroying or overwriting a buffer does not block: weir's own thread waits
  /// for the work that uses the memory, and then closes it. Errors go to
  /// set_unhandled_error_handler.
  ipc_pool_buffer(ipc_pool_buffer&&) noexcept = default;
  /// Closes the memory that this buffer held, like the destructor, and takes over the memory of the
  /// other buffer.
  ipc_pool_buffer& operator=(ipc_pool_buffer&&) noexcept = default;

  /// Waits for the streams that use the memory, closes it now and reports errors. Afterwards the
  /// other process may free it. A second call does nothing.
  ///
  /// In a capture: allowed in every thread. Throws `stream_capture_unsupported`, with nothing
  /// changed, while a stream that used the buffer captures.
  /// Driver: cuEventSynchronize, cuMemFree.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  using elements::memory_;
};

static_assert(!std::is_copy_constructible_v<ipc_pool> && sizeof(ipc_pool) == sizeof(void*));

}  // namespace weir
