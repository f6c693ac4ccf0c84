// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/imported_store.hpp - a store of device memory that another process made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "embedded/model/ipc/ipc_handle.hpp"
#include "embedded/model/ipc/shared_store.hpp"

namespace weir::embedded::model {

// A store is shared memory that holds device memory (shared_store.hpp). A piece is one allocation
// in a store that the store's process lets other processes open.

// A store of another process, opened in this process. The store and its contents stay usable after
// the other process has ended. Move-only.
//
// Thread safety: const members may be called from any thread.
class imported_store {
 public:
  imported_store() noexcept = default;

  // Opens the store in a segment and takes ownership of the segment. Returns an empty object if the
  // segment is not a store or cannot be mapped.
  [[nodiscard]] static imported_store open(os::shared_memory segment) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(header_); }
  [[nodiscard]] std::uint64_t identity() const noexcept { return header().identity; }
  [[nodiscard]] int device() const noexcept { return header().device; }
  [[nodiscard]] const abi::CUmemLocation& location() const noexcept { return header().location; }

  // A piece that map() has mapped. `pages` are whole pages; the piece begins `skip` bytes after
  // their start.
  struct piece {
    os::shared_pages pages;
    std::size_t skip = 0;
    std::size_t bytes = 0;

    [[nodiscard]] std::uintptr_t start() const noexcept {
      return reinterpret_cast<std::uintptr_t>(pages.get()) + skip;
    }
  };
  // Maps the piece that a handle of the store's process identifies. Returns an empty object if the
  // piece no longer exists, or if the system has no addresses left.
  [[nodiscard]] piece map(const ipc_identity& wanted) const noexcept;

 private:
  [[nodiscard]] const store_header& header() const noexcept {
    return *reinterpret_cast<const store_header*>(header_.get());
  }

  os::shared_memory segment_;
  os::shared_pages header_;
};

}  // namespace weir::embedded::model
