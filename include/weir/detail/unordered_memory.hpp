// SPDX-License-Identifier: Apache-2.0
// weir/detail/unordered_memory.hpp - memory that belongs to no stream: the untyped part of pinned,
// managed, mapped and ipc buffers.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/owned_memory.hpp>
#include <weir/device/device.hpp>

#include <cstddef>

namespace weir::detail {

struct first_failure;

/// The functions that free one kind of memory.
struct memory_deleter {
  const char* call;  ///< the driver call, for errors
  void (*run)(void* address, void* owner, first_failure& failure) noexcept;
};

/// The kinds of memory that unordered_memory allocates.
enum class allocation_kind : unsigned char { pinned, managed, device };

inline constexpr unsigned pinned_for_all_devices = 1;  ///< CU_MEMHOSTALLOC_PORTABLE

/// Memory that is not freed in the order of a stream. The reclaimer thread of weir frees it when
/// the work that uses it has finished, so destroying it does not block. Classes that open or map
/// existing memory derive from this class.
class WEIR_EXPORT unordered_memory : public owned_memory {
 public:
  /// Allocates memory in the primary context of `gpu`. `flags` are the flags of cuMemHostAlloc for
  /// pinned memory, and of cuMemAllocManaged for managed memory; 0 for device memory.
  unordered_memory(allocation_kind kind, std::size_t count, std::size_t element_bytes,
                   weir::device gpu, unsigned flags, call_site at);
  unordered_memory(unordered_memory&& other) noexcept;
  unordered_memory& operator=(unordered_memory&& other) noexcept;
  ~unordered_memory();

  /// Blocks until the work that uses the memory has finished, frees the memory, and throws the
  /// first error. Invalidates no capture. Throws, and changes nothing, while a stream that used the
  /// memory captures, because a capturing stream cannot be waited for.
  void close(call_site at);

 protected:
  /// Creates the tracked_memory. The constructor of the derived class then gets the memory, and
  /// calls own().
  unordered_memory() { create_record(); }

  const memory_deleter* deleter_ = nullptr;  ///< set before own() is called
  /// The context of the memory, or the object from which it was imported. Passed to deleter_.
  void* owner_ = nullptr;
};

}  // namespace weir::detail
