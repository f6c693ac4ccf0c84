// SPDX-License-Identifier: Apache-2.0
// weir/detail/owned_memory.hpp - memory that a buffer owns: the untyped part of buffers.
#pragma once

#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/tracked_memory.hpp>

#include <cstddef>

namespace weir::detail {

class ended_uses;

/// The address and size of an allocation, and its tracked_memory. Derived classes allocate and free
/// the memory.
///
/// Thread safety: const members may be called from any thread; all others need exclusive access.
class WEIR_EXPORT owned_memory {
 public:
  owned_memory(const owned_memory&) = delete;

  [[nodiscard]] bool closed() const noexcept { return address_ == closed_handle<void>(); }
  [[nodiscard]] void* address() const noexcept { return closed() ? nullptr : address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns closed_memory() if the object is closed.
  [[nodiscard]] const tracked_memory& tracked() const noexcept {
    return tracked_ != nullptr ? *tracked_ : closed_memory();
  }

 protected:
  owned_memory() noexcept = default;
  owned_memory& operator=(const owned_memory&) = delete;
  ~owned_memory() = default;
  /// Takes over the allocation of `other`, which is closed afterwards. Does not free the allocation
  /// that this object has.
  void move_from(owned_memory& other) noexcept;
  /// Creates the tracked_memory of an allocation that is about to be made. Throws std::bad_alloc.
  void create_record();
  /// Makes the object the owner of an allocation, which can from now on be found by its address.
  /// Called after create_record().
  void own(void* address, std::size_t bytes, CUctx_st* device_context) noexcept;
  /// Ends the tracking of the memory: its address is not found any more, and later uses are
  /// ignored. Called before the memory is freed.
  void end_tracking() noexcept;
  /// Ends the tracking, and returns the uses so far, which the object then no longer has.
  [[nodiscard]] ended_uses take_uses() noexcept;
  /// Ends the tracking, and makes the object closed without freeing the memory.
  void disown() noexcept;

  void* address_ = closed_handle<void>();
  std::size_t bytes_ = 0;
  tracked_memory* tracked_ = nullptr;  ///< a memory_record; null if the object is closed
};

}  // namespace weir::detail
