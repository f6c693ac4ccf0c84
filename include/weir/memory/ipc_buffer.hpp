// weir/memory/ipc_buffer.hpp - device memory that several processes of one host have.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/detail/unordered_memory.hpp>
#include <weir/device/device.hpp>

#include <cstddef>
#include <type_traits>

namespace weir {

// The name of memory for other processes: 64 bytes to be sent as they are. They are good while the
// memory is, and the process that allocated it lives, for processes of the same user on the same
// host.
struct ipc_memory_handle {
  unsigned char bytes[64];
};

static_assert(std::is_trivially_copyable_v<ipc_memory_handle> && sizeof(ipc_memory_handle) == 64);

namespace detail {

// Memory of several processes without a type.
class WEIR_EXPORT ipc_memory : public unordered_memory {
 public:
  ipc_memory(std::size_t count, std::size_t element_bytes, device gpu, call_site at);
  ipc_memory(const ipc_memory_handle& handle, device gpu, std::size_t element_bytes,
             call_site at);  // opens it

  [[nodiscard]] ipc_memory_handle handle(call_site at) const;
  [[nodiscard]] bool opened() const noexcept { return opened_; }

 private:
  bool opened_ = false;
};

}  // namespace detail

// `size` elements of device memory that other processes may open: one process makes it,
// uninitialised, and gives them its handle. All see the same memory, each at an address of its own;
// what each does with it is ordered by events of several processes (ipc_event.hpp). Of a buffer,
// which comes from a pool, the driver gives no such handle; ipc_pool.hpp shares those. Making and
// freeing one is slow and waits for work, so keep it. Who made it frees it last: to free memory
// that others have open is undefined by the driver's rules. It outlives the process that made it
// where others have it open. T is trivially copyable, and the same in all processes. Destroying one
// while work that weir queued uses it is allowed: it goes when that is done. Work that weir did not
// queue is told with used_on(). data(), size() and what else all buffers have: typed_memory.hpp.
// Move-only; moved-from and closed ones answer `closed` when used. Thread safety: as any object,
// except that const operations, and with them copies from it, may run in several threads. In a
// capture: made, opened and closed in whatever thread, and no part of it.
template <class T>
class ipc_buffer : public detail::typed_memory<T, detail::ipc_memory> {
  using elements = detail::typed_memory<T, detail::ipc_memory>;

 public:
  // Allocated in the primary context of the device. Fails whole, with out_of_memory if there is
  // none. cuMemAlloc.
  explicit ipc_buffer(std::size_t size, device gpu = device{}, call_site at = call_site::current())
      : elements{size, sizeof(T), gpu, at} {}

  // Opens the memory of another process, all of it: size() is as many elements as there are. In the
  // process that made it: invalid_context, for it has the memory already. Opened twice it is the
  // same memory, to be closed twice. What the driver says of a name that is none is its affair:
  // invalid_value, map_failed, or invalid_handle where the maker has ended. cuIpcOpenMemHandle,
  // cuMemGetAddressRange.
  [[nodiscard]] static ipc_buffer open(const ipc_memory_handle& handle, device gpu = device{},
                                       call_site at = call_site::current()) {
    return ipc_buffer{detail::ipc_memory{handle, gpu, sizeof(T), at}};
  }

  // What is overwritten or destroyed is freed, or closed, by weir's own thread as soon as nothing
  // uses it any more; nobody else waits for that. What fails goes to set_unhandled_error_handler.
  ipc_buffer(ipc_buffer&&) noexcept = default;
  ipc_buffer& operator=(ipc_buffer&&) noexcept = default;

  // What other processes open it by; the same each time. Of memory that was opened here, or of
  // none: refused (invalid_value). cuIpcGetMemHandle.
  [[nodiscard]] ipc_memory_handle handle(call_site at = call_site::current()) const {
    return memory_.handle(at);
  }

  // Was it opened here, not made?
  [[nodiscard]] bool opened() const noexcept { return memory_.opened(); }

  // Frees it, or closes what was opened, waiting for the streams that use it, and reports what
  // fails. Does nothing a second time. Refused (stream_capture_unsupported), with nothing changed,
  // while a stream that used it captures. cuEventSynchronize, cuMemFree or cuIpcCloseMemHandle.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  explicit ipc_buffer(detail::ipc_memory&& memory) noexcept
      : elements{static_cast<detail::ipc_memory&&>(memory)} {}

  using elements::memory_;
};

}  // namespace weir
