// SPDX-License-Identifier: Apache-2.0
// weir/memory/external_memory.hpp - memory that another library, API or process allocated, imported
// by file descriptor.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/detail/unordered_memory.hpp>
#include <weir/device/device.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>

namespace weir {

class external_memory;

namespace detail {

struct external_import;

/// Counts one owner of an import less, for destructors. The last owner ends the import.
struct external_import_deleter {
  WEIR_EXPORT void operator()(external_import* import) const noexcept;
};

/// Untyped mapped memory: the part of mapped_buffer that does not depend on the element type.
class WEIR_EXPORT mapped_memory : public unordered_memory {
 public:
  mapped_memory(const external_memory& memory, std::size_t offset, std::size_t count,
                std::size_t element_bytes, std::size_t alignment, call_site at);
};

}  // namespace detail

/// Options of external_memory::import_fd().
struct external_memory_options {
  /// True if the memory is a dedicated allocation (Vulkan), not a part of a larger one.
  bool dedicated = false;
};

/// Maps `size` elements of imported memory at a new device address.
///
/// The elements hold what the exporter stored; nothing is initialised. The mapping keeps the import
/// alive, so it may outlive its external_memory.
/// CUDA does not order the work of other processes or APIs that use the memory. Order it with
/// interprocess events, external semaphores, or memory words that one side writes and the other
/// side waits for.
/// weir's operations (copy, fill, ...) record the streams on which they use the buffer. After the
/// destructor, weir's own thread unmaps the buffer when the work of those streams is done. For work
/// that weir did not queue, call used_on().
/// T must be trivially copyable. Common members such as data() and size() are in typed_memory.hpp.
/// Move-only. A moved-from or closed buffer throws `closed` when used.
///
/// Thread safety: copies from the buffer may be queued from several threads; all other members need
/// exclusive access.
template <class T>
class mapped_buffer : public detail::typed_memory<T, detail::mapped_memory> {
  using elements = detail::typed_memory<T, detail::mapped_memory>;

 public:
  /// Maps `size` elements (at least one) from `offset` bytes on; `offset` must be a multiple of
  /// alignof(T). Some drivers require the offset and the size in bytes to be multiples of the
  /// exporter's allocation granularity (2 MiB on a GPU).
  ///
  /// Throws: `invalid_value` if the range is not within the imported memory.
  /// In a capture: allowed; not part of the capture.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuExternalMemoryGetMappedBuffer.
  mapped_buffer(const external_memory& memory, std::size_t offset, std::size_t size,
                call_site at = call_site::current())
      : elements{memory, offset, size, sizeof(T), alignof(T), at} {}

  /// Moves the mapping. Destroying or overwriting a buffer does not wait for the streams that used
  /// it. The driver may wait for the whole device when the mapping is freed. Errors go to
  /// set_unhandled_error_handler.
  ///
  /// In a capture: another thread frees the mapping later, if the capture was begun through weir.
  /// In a host function: another thread frees the mapping later.
  mapped_buffer(mapped_buffer&&) noexcept = default;
  /// Frees the mapping that this buffer held, and takes over the other buffer's.
  mapped_buffer& operator=(mapped_buffer&&) noexcept = default;

  /// Waits for the streams that use the mapping, frees it now and reports errors. A second call
  /// does nothing. The memory itself belongs to the exporter and stays.
  ///
  /// In a capture: allowed in every thread. Throws `stream_capture_unsupported`, with nothing
  /// changed, while a stream that used the buffer captures.
  /// Driver: cuEventSynchronize, cuMemFree.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  using elements::memory_;
};

/// Owns the import of memory from a file descriptor. Use it through mapped_buffer.
///
/// The descriptor may come from an allocation that is exported for sharing
/// (cuMemExportToShareableHandle, in this or another process), from Vulkan
/// (VK_KHR_external_memory_fd), or on the embedded driver from a sealable memfd. The import ends
/// when this object and all its mapped_buffers are destroyed, in any order. The memory belongs to
/// the exporter, and stays allocated while the exporter or an import refers to it. Move-only. A
/// moved-from or closed object throws `closed` when used.
///
/// Thread safety: mapped_buffers may be created from any thread; moving and closing need exclusive
/// access.
class WEIR_EXPORT external_memory {
 public:
  /// Imports an allocation for use on `gpu`. `size_bytes` is the size of the exporter's whole
  /// allocation. On success the driver owns the descriptor: do not close or use it any more. If the
  /// import fails, the caller still owns it.
  ///
  /// Throws: `invalid_value` or another error of the driver if the descriptor does not refer to
  /// exported memory. `not_supported` on the embedded driver if the memory could still be shrunk (a
  /// memfd without MFD_ALLOW_SEALING).
  /// In a capture: allowed in every thread.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuImportExternalMemory.
  [[nodiscard]] static external_memory import_fd(int descriptor, std::size_t size_bytes,
                                                 weir::device gpu = weir::device{},
                                                 external_memory_options options = {},
                                                 call_site at = call_site::current());

  external_memory(external_memory&&) noexcept = default;
  /// Ends the import that this object held, as the destructor does, and takes over the import of
  /// the other object.
  external_memory& operator=(external_memory&&) noexcept = default;
  /// Ends the import, unless a mapped_buffer still uses it. Never blocks. Errors go to
  /// set_unhandled_error_handler.
  ///
  /// In a capture: another thread ends the import later, if the capture was begun through weir.
  /// In a host function: another thread ends the import later.
  ~external_memory() = default;

  /// Closes this object and reports errors. The import ends now or, if mapped_buffers use it, with
  /// the last of them. A second call does nothing.
  ///
  /// In a capture: allowed in every thread.
  /// Driver: cuDestroyExternalMemory.
  void close(call_site at = call_site::current());
  /// Returns true if the object owns no import: it was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return import_ == nullptr; }

  /// Returns the size of the imported memory in bytes.
  [[nodiscard]] std::size_t size_bytes() const noexcept;
  /// Returns the device for which the memory was imported.
  [[nodiscard]] weir::device device() const noexcept;
  /// Returns the driver's handle, valid while this object or a mapped_buffer of it is open.
  [[nodiscard]] CUextMemory_st* get() const noexcept;

 private:
  friend class detail::mapped_memory;
  explicit external_memory(detail::external_import* import) noexcept : import_{import} {}

  /// Null if closed.
  std::unique_ptr<detail::external_import, detail::external_import_deleter> import_;
};

static_assert(!std::is_copy_constructible_v<external_memory> &&
              sizeof(external_memory) == sizeof(void*));

}  // namespace weir
