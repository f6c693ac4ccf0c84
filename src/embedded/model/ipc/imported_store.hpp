// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/imported_store.hpp - a store of device memory that another process made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "embedded/model/ipc/shared_store.hpp"

namespace weir::embedded::model {

// A store is shared memory that holds device memory (shared_store.hpp). A piece is one allocation
// in a store that the store's process lets other processes open.

// A mapping of a part of a store into this process. Move-only; the destructor unmaps it.
class imported_mapping {
 public:
  imported_mapping() noexcept = default;
  imported_mapping(void* address, std::size_t bytes) noexcept : address_{address}, bytes_{bytes} {}
  imported_mapping(imported_mapping&& other) noexcept
      : address_{std::exchange(other.address_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  imported_mapping& operator=(imported_mapping&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~imported_mapping();

  [[nodiscard]] explicit operator bool() const noexcept { return address_ != nullptr; }
  [[nodiscard]] std::byte* get() const noexcept { return static_cast<std::byte*>(address_); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  void* release() noexcept { return std::exchange(address_, nullptr); }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

// Identifies a piece of a store. The values come from a handle that the program received from the
// store's process: a CUipcMemHandle or a CUmemPoolPtrExportData (ipc_handle.hpp).
struct piece_id {
  std::uint64_t store;    // store_header::identity
  unsigned long long id;  // the allocation's ID
  std::int32_t number;    // the index in store_header::pieces
};

// A store of another process, opened in this process. The store and its contents stay usable after
// the other process has ended. Move-only.
//
// Thread safety: const members may be called from any thread.
class imported_store {
 public:
  imported_store() noexcept = default;

  // Opens the store in a segment and takes ownership of the segment. Returns an empty object if the
  // segment is not a store.
  [[nodiscard]] static imported_store open(os::shared_memory segment) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(header_); }
  [[nodiscard]] std::uint64_t identity() const noexcept { return header().identity; }
  [[nodiscard]] int device() const noexcept { return header().device; }
  [[nodiscard]] const abi::CUmemLocation& location() const noexcept { return header().location; }
  [[nodiscard]] int process() const noexcept { return header().process; }

  // A piece that map() has mapped. `pages` are whole pages; the piece begins `skip` bytes after
  // their start.
  struct piece {
    imported_mapping pages;
    std::size_t skip = 0;
    std::size_t bytes = 0;

    [[nodiscard]] std::uintptr_t start() const noexcept {
      return reinterpret_cast<std::uintptr_t>(pages.get()) + skip;
    }
  };
  // Maps a piece into this process. Returns an empty object if the piece no longer exists, or if
  // the system has no addresses left.
  [[nodiscard]] piece map(const piece_id& id) const noexcept;

 private:
  [[nodiscard]] const store_header& header() const noexcept {
    return *reinterpret_cast<const store_header*>(header_.get());
  }

  os::shared_memory segment_;
  imported_mapping header_;
};

}  // namespace weir::embedded::model
