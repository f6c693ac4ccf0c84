// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/backing.hpp - the host memory that backs device memory.
#pragma once

#include <cstddef>
#include <memory>

#include "os/pages.hpp"
#include "os/poison.hpp"

namespace weir::embedded::model {

class device;
class shared_store;

// A block of host memory that stands for device memory and is aligned like it. The block may count
// against the memory of a device. The system provides a page only when it is first touched.
// Move-only. The destructor frees the block and ends its count, unless release() was called.
class backing {
 public:
  static constexpr std::size_t alignment = 512;

  // Returns the bytes that an allocation of `bytes` bytes occupies.
  static constexpr std::size_t extent_of(std::size_t bytes) noexcept {
    return os::asan_build ? bytes : os::round_up(bytes, alignment);
  }

  // Allocates a block. `charged_device`: the device whose memory it counts against, or null.
  // `store`: the store that shares it with other processes, or null for private memory. Returns an
  // empty object if the device or the host has too little memory.
  [[nodiscard]] static backing allocate(std::size_t bytes, device* charged_device,
                                        shared_store* store = nullptr) noexcept;

  // Frees a block that release() returned. The arguments are those of allocate().
  static void deallocate(void* address, std::size_t bytes, device* charged_device,
                         shared_store* store = nullptr) noexcept;

  // Returns the pages of an unused block to the system; their contents are lost. Does nothing for a
  // small block, which comes from the heap.
  static void drop_pages(void* address, std::size_t bytes) noexcept;

  // Sets the access of the whole process to a block: PROT_NONE, or PROT_READ | PROT_WRITE. Does
  // nothing for a small block, which shares its pages with other memory.
  static void protect(void* address, std::size_t bytes, int protection) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }
  [[nodiscard]] void* get() const noexcept { return block_.get(); }
  void* release() noexcept { return block_.release(); }

 private:
  struct deleter {
    std::size_t bytes;
    device* charged_device;
    shared_store* store;

    void operator()(void* address) const noexcept {
      deallocate(address, bytes, charged_device, store);
    }
  };

  std::unique_ptr<void, deleter> block_;
};

}  // namespace weir::embedded::model
