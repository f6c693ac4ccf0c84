// SPDX-License-Identifier: Apache-2.0
// model/memory/backing.hpp - the host memory that backs device memory.
#pragma once

#include <cstddef>
#include <utility>

#include "embedded/model/memory/poison.hpp"

namespace weir::embedded::model {

class device;
class shared_store;

// A block of host memory, aligned like device memory, and the corresponding share of a device's
// memory. Its pages are untouched until used. Move-only; the destructor frees both unless release()
// was called.
class backing {
 public:
  static constexpr std::size_t alignment = 512;

  // Returns the bytes that an allocation of `bytes` bytes occupies.
  static constexpr std::size_t extent_of(std::size_t bytes) noexcept {
    return asan_build ? bytes : (bytes + alignment - 1) / alignment * alignment;
  }

  backing() noexcept = default;
  backing(backing&& other) noexcept
      : at_{std::exchange(other.at_, nullptr)},
        bytes_{other.bytes_},
        from_{other.from_},
        in_{other.in_} {}
  backing& operator=(backing&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    std::swap(from_, other.from_);
    std::swap(in_, other.in_);
    return *this;
  }
  ~backing() {
    if (at_ != nullptr) deallocate(at_, bytes_, from_, in_);
  }

  // Allocates a block. `from`: the device whose memory it counts against, or null. `in`: the store
  // that shares it with other processes, or null for private memory. Returns an empty object if the
  // device or the host has too little memory.
  [[nodiscard]] static backing allocate(std::size_t bytes, device* from,
                                        shared_store* in = nullptr) noexcept;

  // Frees a block that release() returned. The arguments are those of allocate().
  static void deallocate(void* at, std::size_t bytes, device* from,
                         shared_store* in = nullptr) noexcept;

  // Returns the pages of an unused block to the system and loses their contents. Small blocks keep
  // theirs.
  static void drop_pages(void* at, std::size_t bytes) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }
  [[nodiscard]] void* get() const noexcept { return at_; }
  void* release() noexcept { return std::exchange(at_, nullptr); }

 private:
  backing(void* at, std::size_t bytes, device* from, shared_store* in) noexcept
      : at_{at}, bytes_{bytes}, from_{from}, in_{in} {}

  void* at_ = nullptr;
  std::size_t bytes_ = 0;
  device* from_ = nullptr;
  shared_store* in_ = nullptr;
};

// Frees a released block as an operation of a stream, when the work before it is complete.
struct backing_release {
  void* at;
  std::size_t bytes;
  device* from;
  shared_store* in = nullptr;

  void run() const noexcept { backing::deallocate(at, bytes, from, in); }
};

}  // namespace weir::embedded::model
