// weir/memory/ipc_pool.hpp - memory of pools that several processes of one host have.
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
#include <type_traits>

namespace weir {

// One process makes a pool for it, and gives others the pool by a descriptor, and then each piece
// of memory by a handle:
//
//   weir::memory_pool pool{gpu, {.sharing = weir::pool_sharing::file_descriptor}};
//   send_descriptor(weir::export_fd(pool));                      // over a local socket
//   (SCM_RIGHTS) weir::buffer<float> x{pool, s, n}; send(weir::handle_of(x)); // plain bytes
//
//   auto theirs = weir::ipc_pool::import_fd(receive_descriptor(), gpu);
//   weir::ipc_pool_buffer<float> y{theirs, receive()};           // the same memory
//
// So memory in stream order is shared as well, and making it waits for nothing. What each process
// does with it is ordered by events of several processes (ipc_event.hpp), its being there, too: the
// handle may be sent before the stream has come to the allocation, and the maker's free has to come
// after the last use elsewhere.

// The name of memory of a pool for other processes: 64 bytes to be sent as they are. It is good
// while the memory is, for those who have imported the pool.
struct pool_memory_handle {
  unsigned char bytes[64];
};

static_assert(std::is_trivially_copyable_v<pool_memory_handle> && sizeof(pool_memory_handle) == 64);

// A descriptor that other processes import the pool by; a new one each time, the caller's to close,
// and closed in programs that this one executes. Of a pool that was not made with
// pool_sharing::file_descriptor, and of a default pool: refused (invalid_value). In a capture:
// allowed. In a host function: refused. cuMemPoolExportToShareableHandle.
[[nodiscard]] WEIR_EXPORT int export_fd(memory_pool_ref pool, call_site at = call_site::current());

// What other processes open memory of a pool by; the same each time. The address is one that an
// allocation gave. Of memory that no shared pool gave, and before the pool itself has been
// exported: refused (invalid_value). Does not wait for the stream of the allocation. In a capture:
// allowed. In a host function: refused. cuMemPoolExportPointer.
[[nodiscard]] WEIR_EXPORT pool_memory_handle handle_of(const void* address,
                                                       call_site at = call_site::current());
template <class T>
[[nodiscard]] pool_memory_handle handle_of(const buffer<T>& memory,
                                           call_site at = call_site::current()) {
  return handle_of(static_cast<const void*>(memory.data()), at);
}

class ipc_pool;

namespace detail {

struct pool_import;

// Memory of an imported pool without a type.
class WEIR_EXPORT ipc_pool_memory : public unordered_memory {
 public:
  ipc_pool_memory(const ipc_pool& from, const pool_memory_handle& handle, std::size_t element_bytes,
                  call_site at);
};

}  // namespace detail

// A pool of another process, imported: what that one allocates from it can be opened here
// (ipc_pool_buffer). It gives no memory itself and has no attributes; drivers refuse that, so there
// is no such operation. The import ends with this and the last memory that was opened from it, in
// whichever order they go. It outlives the process that made the pool. Imported twice it is one
// pool to the driver; weir counts, so that each object may go when it likes. Move-only; moved-from
// and closed ones answer `closed` when used. Thread safety: open memory from any thread; moving and
// closing as any object.
class WEIR_EXPORT ipc_pool {
 public:
  // By a descriptor that export_fd() gave in another process; it stays the caller's, to be closed
  // whenever he likes. The device is the one that the pool is of, by this process's number.
  // Something else is refused with what the driver says (`unknown`). In a capture: allowed. In a
  // host function: refused. cuMemPoolImportFromShareableHandle.
  [[nodiscard]] static ipc_pool import_fd(int descriptor, weir::device gpu = weir::device{},
                                          call_site at = call_site::current());

  ipc_pool(ipc_pool&& other) noexcept;
  ipc_pool& operator=(ipc_pool&& other) noexcept;
  // Never blocks; what fails goes to set_unhandled_error_handler. During a capture begun through
  // weir and in host functions the import ends later, by another thread.
  ~ipc_pool();

  // Lets go of it now; does nothing a second time. Ends the import unless memory of it is open, and
  // reports what fails. cuMemPoolDestroy.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept { return import_ == nullptr; }

  [[nodiscard]] weir::device device() const noexcept;
  [[nodiscard]] CUmemPoolHandle_st* get()
      const noexcept;  // valid while this or memory opened from it is open

 private:
  friend class detail::ipc_pool_memory;
  explicit ipc_pool(detail::pool_import* import) noexcept : import_{import} {}

  detail::pool_import* import_;
};

// Memory that another process has allocated from a pool, all of it: size() is as many elements as
// there are. The other process frees it after this one has let go of it: what becomes of it
// otherwise the drivers leave undefined. Opened twice it is the same memory at the same address,
// and goes with the last of them. T is trivially copyable, and the same in all processes.
// Destroying one while work that weir queued uses it is allowed: it goes when that is done. Work
// that weir did not queue is told with used_on(). data(), size() and what else all buffers have:
// typed_memory.hpp. Move-only; moved-from and closed ones answer `closed` when used. Thread safety:
// as any object, except that const operations, and with them copies from it, may run in several
// threads.
template <class T>
class ipc_pool_buffer : public detail::typed_memory<T, detail::ipc_pool_memory> {
  using elements = detail::typed_memory<T, detail::ipc_pool_memory>;

 public:
  // A handle of another pool's memory, or of none: refused (invalid_value). In a capture: allowed.
  // In a host function: refused. cuMemPoolImportPointer, cuMemGetAddressRange.
  ipc_pool_buffer(const ipc_pool& from, const pool_memory_handle& handle,
                  call_site at = call_site::current())
      : elements{from, handle, sizeof(T), at} {}

  // What is overwritten or destroyed is given back by weir's own thread as soon as nothing uses it
  // any more; nobody else waits for that. What fails goes to set_unhandled_error_handler.
  ipc_pool_buffer(ipc_pool_buffer&&) noexcept = default;
  ipc_pool_buffer& operator=(ipc_pool_buffer&&) noexcept = default;

  // Gives it back now, waiting for the streams that use it, and reports what fails. Does nothing a
  // second time. Afterwards the other process may free it. In a capture: allowed, in whatever
  // thread; refused (stream_capture_unsupported), with nothing changed, while a stream that used it
  // captures. cuEventSynchronize, cuMemFree.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  using elements::memory_;
};

static_assert(!std::is_copy_constructible_v<ipc_pool> && sizeof(ipc_pool) == sizeof(void*));

}  // namespace weir
