// model/backing.hpp - the host memory that stands for a device's memory.
#pragma once

#include <cstddef>
#include <utility>

#include "embedded/model/memory/poison.hpp"

namespace weir::embedded::model {

class device;
class shared_store;

// A block of host memory, aligned as device memory is and untouched until it is used, and its share
// of a device's memory. Move-only; gives both back at its end unless it was released.
class backing {
 public:
  static constexpr std::size_t alignment = 512;

  // What an allocation of so many bytes occupies.
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

  // Takes a block. `from` is the device whose memory it counts against, null for memory that counts
  // against none; `in` is the store that it shall lie in, so that other processes can have it, null
  // for memory of this process alone. Empty where the device or the host has not that much left.
  [[nodiscard]] static backing allocate(std::size_t bytes, device* from,
                                        shared_store* in = nullptr) noexcept;

  // Gives back what release() gave out; the arguments are those of allocate().
  static void deallocate(void* at, std::size_t bytes, device* from,
                         shared_store* in = nullptr) noexcept;

  // Lets the system have the pages of a block that nobody uses; what is in it is lost. Those of
  // small blocks stay.
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

// Gives a released block back as an operation of a stream: when the work before it is complete.
struct backing_release {
  void* at;
  std::size_t bytes;
  device* from;
  shared_store* in = nullptr;

  void run() const noexcept { backing::deallocate(at, bytes, from, in); }
};

}  // namespace weir::embedded::model
