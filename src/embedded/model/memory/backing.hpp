// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/backing.hpp - the host memory that backs device memory.
#pragma once

#include <cstddef>
#include <utility>

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
    return os::asan_build ? bytes : (bytes + alignment - 1) / alignment * alignment;
  }

  backing() noexcept = default;
  backing(backing&& other) noexcept
      : address_{std::exchange(other.address_, nullptr)},
        bytes_{other.bytes_},
        charged_device_{other.charged_device_},
        store_{other.store_} {}
  backing& operator=(backing&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    std::swap(charged_device_, other.charged_device_);
    std::swap(store_, other.store_);
    return *this;
  }
  ~backing() {
    if (address_ != nullptr) deallocate(address_, bytes_, charged_device_, store_);
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

  [[nodiscard]] explicit operator bool() const noexcept { return address_ != nullptr; }
  [[nodiscard]] void* get() const noexcept { return address_; }
  void* release() noexcept { return std::exchange(address_, nullptr); }

 private:
  backing(void* address, std::size_t bytes, device* charged_device, shared_store* store) noexcept
      : address_{address}, bytes_{bytes}, charged_device_{charged_device}, store_{store} {}

  void* address_ = nullptr;
  std::size_t bytes_ = 0;
  device* charged_device_ = nullptr;
  shared_store* store_ = nullptr;
};

// An operation of a stream that frees a released block. The stream runs it when the work before it
// is complete.
struct backing_release {
  void* address;
  std::size_t bytes;
  device* charged_device;
  shared_store* store = nullptr;

  void run() const noexcept { backing::deallocate(address, bytes, charged_device, store); }
};

}  // namespace weir::embedded::model
