// weir/memory/external_memory.hpp - memory that another library, interface or process allocated, by
// file descriptor.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/detail/unordered_memory.hpp>
#include <weir/device/device.hpp>

#include <cstddef>
#include <type_traits>

namespace weir {

class external_memory;

namespace detail {

struct external_import;

// Mapped memory without a type.
class WEIR_EXPORT mapped_memory : public unordered_memory {
 public:
  mapped_memory(const external_memory& from, std::size_t offset, std::size_t count,
                std::size_t element_bytes, std::size_t alignment, call_site at);
};

}  // namespace detail

struct external_memory_options {
  // The memory is a resource of its own and no part of a larger one: Vulkan's dedicated
  // allocations.
  bool dedicated = false;
};

// `size` elements of imported memory, at an address of their own on the device. They are what the
// exporter put there; nothing is initialised. It keeps the import alive, so it may outlive the
// external_memory that it was mapped from. Nothing orders the work of two processes or interfaces
// on the same memory but what they agree on: interprocess events, external semaphores, values that
// one writes and the other waits for. weir's operations (copy, fill, ...) remember the streams on
// which they used it, and destroying it takes it back when their work is done; work that weir did
// not queue is told with used_on(). T is trivially copyable. data(), size() and what else all
// buffers have: typed_memory.hpp. Move-only; moved-from and closed ones answer `closed` when used.
// Thread safety: as any object, except that copies from it may be queued from several threads.
template <class T>
class mapped_buffer : public detail::typed_memory<T, detail::mapped_memory> {
  using elements = detail::typed_memory<T, detail::mapped_memory>;

 public:
  // Maps `size` elements from `offset` bytes on, a multiple of T's alignment; at least one. What
  // does not lie in the imported memory is refused (invalid_value). Some drivers want the offset
  // and the size in bytes to be multiples of what the exporter allocates in (2 MiB on a GPU). In a
  // capture: allowed, and no part of it. In a host function: refused.
  // cuExternalMemoryGetMappedBuffer.
  mapped_buffer(const external_memory& from, std::size_t offset, std::size_t size,
                call_site at = call_site::current())
      : elements{from, offset, size, sizeof(T), alignof(T), at} {}

  // Does not wait for the streams that weir knows to use it; a driver may wait for the whole device
  // in the call that frees it. What fails goes to set_unhandled_error_handler. During a capture
  // begun through weir and in host functions it is freed later, by another thread.
  mapped_buffer(mapped_buffer&&) noexcept = default;
  mapped_buffer& operator=(mapped_buffer&&) noexcept = default;

  // Frees it now, waiting for the streams that use it, and reports what fails. Does nothing a
  // second time. The memory itself is the exporter's and stays. In a capture: allowed, in whatever
  // thread; refused (stream_capture_unsupported), with nothing changed, while a stream that used it
  // captures. cuEventSynchronize, cuMemFree.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  using elements::memory_;
};

// Memory that came as a file descriptor: of an allocation that was made to be shared
// (cuMemExportToShareableHandle, with this driver or in another process), of Vulkan's
// (VK_KHR_external_memory_fd), on the embedded driver of a sealable memfd. It is used through what
// is mapped from it (mapped_buffer). The import ends with this and the last such buffer, in
// whichever order they go; the memory itself is the exporter's and lives while anybody has it.
// Move-only; moved-from and closed ones answer `closed` when used. Thread safety: map from any
// thread; moving and closing as any object.
class WEIR_EXPORT external_memory {
 public:
  // Imports `size_bytes` bytes, all that the exporter allocated, for use on that device. On success
  // the descriptor belongs to the driver and is not to be closed or used any more; where the import
  // is refused it is still the caller's. A descriptor of something else is invalid_value or what
  // else the driver says; on the embedded driver not_supported if its owner could make the memory
  // smaller (no MFD_ALLOW_SEALING). In a capture: allowed, in whatever thread. In a host function:
  // refused. cuImportExternalMemory.
  [[nodiscard]] static external_memory import_fd(int descriptor, std::size_t size_bytes,
                                                 weir::device gpu = weir::device{},
                                                 external_memory_options options = {},
                                                 call_site at = call_site::current());

  external_memory(external_memory&& other) noexcept;
  external_memory& operator=(external_memory&& other) noexcept;
  // Never blocks; what fails goes to set_unhandled_error_handler. During a capture begun through
  // weir and in host functions the import ends later, by another thread.
  ~external_memory();

  // Lets go of it now; does nothing a second time. Ends the import unless something is still mapped
  // from it, and reports what fails. In a capture: allowed, in whatever thread.
  // cuDestroyExternalMemory.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept { return import_ == nullptr; }

  [[nodiscard]] std::size_t size_bytes() const noexcept;
  [[nodiscard]] weir::device device() const noexcept;
  [[nodiscard]] CUextMemory_st* get()
      const noexcept;  // valid while this or something mapped from it is open

 private:
  friend class detail::mapped_memory;
  explicit external_memory(detail::external_import* import) noexcept : import_{import} {}

  detail::external_import* import_;
};

static_assert(!std::is_copy_constructible_v<external_memory> &&
              sizeof(external_memory) == sizeof(void*));

}  // namespace weir
