// model/work.hpp - what a stream, a graph node or a captured operation does, as plain descriptions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// Writes `value` as elements of 1, 2 or 4 bytes to `height` rows of `width` elements, `pitch` bytes
// apart.
struct memset_work {
  std::byte* to = nullptr;
  std::size_t pitch = 0;  // not read where height is 1
  std::size_t width = 0;
  std::size_t height = 1;
  std::uint32_t value = 0;
  std::uint32_t element_size = 1;

  void run() const noexcept;
};

// Copies bytes that lie one after the other.
struct copy_work {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  void* staging = nullptr;  // std::free()d afterwards: the driver's own copy of pageable memory
                            // that `from` points to

  friend bool operator==(const copy_work&, const copy_work&) noexcept = default;
  void run() const noexcept;
};

// Copies a box of `width` bytes, `height` rows and `depth` slices.
struct pitched_copy_work {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  std::size_t to_slice = 0;  // bytes from one slice to the next
  std::size_t from_slice = 0;
  void* staging = nullptr;  // as copy_work's
  bool to_unified = false;  // told by its address, without the kind of memory, as a node that it
                            // becomes remembers
  bool from_unified = false;

  [[nodiscard]] std::size_t bytes() const noexcept { return width * height * depth; }
  friend bool operator==(const pitched_copy_work&, const pitched_copy_work&) noexcept = default;
  void run() const noexcept;
};

// Calls a function of the program on the thread of the host functions. Not called once the device
// has failed.
struct host_work {
  abi::CUhostFn function = nullptr;
  void* data = nullptr;

  void run() const noexcept;
};

// Calls a status callback there. Always called; the status says how the device is.
struct callback_work {
  abi::CUstreamCallback function = nullptr;
  abi::CUstream stream = nullptr;  // as the program gave it
  void* data = nullptr;

  void run() const noexcept;
};

// Holds the stream until a word of 4 or 8 bytes compares as asked (CU_STREAM_WAIT_VALUE_*), or
// fails the device.
struct value_wait {
  const void* word = nullptr;
  std::uint64_t value = 0;
  std::uint32_t comparison = 0;
  std::uint32_t size = 4;
  bool denied =
      false;  // streams might not read the word when this was made: looked at again when it runs

  [[nodiscard]] bool run() const noexcept;  // satisfied, or failed?
};

// Writes a word of 4 or 8 bytes, or fails the device.
struct value_write {
  void* word = nullptr;
  std::uint64_t value = 0;
  std::uint32_t size = 4;
  bool denied =
      false;  // streams might not write the word when this was made: looked at again when it runs

  [[nodiscard]] bool run() const noexcept;  // written?
};

}  // namespace weir::embedded::model
