// SPDX-License-Identifier: Apache-2.0
// model/stream/operations.hpp - the operations of streams, graph nodes and captures, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "driver/abi.hpp"
#include "embedded/model/memory/memory_access.hpp"

namespace weir::embedded::model {

struct allocation;

// run() of an operation that accesses memory returns false if it made the device fail, because the
// memory is not there any more (freed_memory.hpp).

// Writes `value` as elements of 1, 2 or 4 bytes to `height` rows of `width` elements, `pitch` bytes
// apart.
struct memset_work {
  std::byte* dst = nullptr;
  std::size_t pitch = 0;  // unused if height is 1
  std::size_t width = 0;
  std::size_t height = 1;
  std::uint32_t value = 0;
  std::uint32_t element_size = 1;
  bool needs_dst = false;  // as in copy_work

  [[nodiscard]] bool run() const noexcept;
};

// Copies contiguous bytes.
struct copy_work {
  std::byte* dst = nullptr;
  const std::byte* src = nullptr;
  std::size_t bytes = 0;
  // If not null: the driver's own copy of a pageable source. `src` then points into it, and run()
  // passes it to std::free().
  void* staging = nullptr;
  bool needs_dst = false;  // set in graphs only: a launch needs this memory (node_operations.hpp)
  bool needs_src = false;

  friend bool operator==(const copy_work&, const copy_work&) noexcept = default;
  [[nodiscard]] bool run() const noexcept;
};

// Copies a box of `width` bytes, `height` rows and `depth` slices.
struct pitched_copy_work {
  std::byte* dst = nullptr;
  const std::byte* src = nullptr;
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t depth = 1;
  std::size_t dst_pitch = 0;
  std::size_t src_pitch = 0;
  std::size_t dst_slice = 0;  // bytes from one slice to the next
  std::size_t src_slice = 0;
  void* staging = nullptr;  // as in copy_work
  // True if the program gave CU_MEMORYTYPE_UNIFIED for that side. A captured copy node reports this
  // type.
  bool dst_unified = false;
  bool src_unified = false;
  bool needs_dst = false;  // as in copy_work
  bool needs_src = false;

  [[nodiscard]] std::size_t bytes() const noexcept { return width * height * depth; }
  friend bool operator==(const pitched_copy_work&, const pitched_copy_work&) noexcept = default;
  // Copies the rows, without the side effects of run().
  void copy_rows() const noexcept;
  [[nodiscard]] bool run() const noexcept;
};

// Calls a function of the program on the host function thread. Skipped after a device failure.
struct host_work {
  abi::CUhostFn function = nullptr;
  void* data = nullptr;

  void run() const noexcept;
};

// Calls a stream callback on the host function thread. Always called, with the device's status.
struct callback_work {
  abi::CUstreamCallback function = nullptr;
  abi::CUstream stream = nullptr;  // as passed by the program
  void* data = nullptr;

  void run() const noexcept;
};

// Blocks the stream until a word of `size` bytes, 4 or 8, satisfies the comparison
// (CU_STREAM_WAIT_VALUE_*) with `value`. Makes the device fail if streams may not read the word.
struct value_wait {
  const void* word = nullptr;
  std::uint64_t value = 0;
  std::uint32_t comparison = 0;
  std::uint32_t size = 4;
  bool denied = false;  // streams could not read the word at creation; checked again when it runs
  bool needs_word = false;  // as needs_dst in copy_work

  [[nodiscard]] bool run() const noexcept;  // true if satisfied or failed
};

// Writes a word of 4 or 8 bytes. Makes the device fail if streams may not write the word.
struct value_write {
  void* word = nullptr;
  std::uint64_t value = 0;
  std::uint32_t size = 4;
  bool denied = false;  // streams could not write the word at creation; checked again when it runs
  bool needs_word = false;  // as needs_dst in copy_work

  [[nodiscard]] bool run() const noexcept;  // true if written
};

// The largest number of value operations in one call of cuStreamBatchMemOp or in one graph node.
inline constexpr unsigned max_batch_operations = 255;

// How the address of a word is checked.
enum class value_address_check : std::uint8_t {
  // For a call: aligned, and in memory that supports_value_operations() and that streams may read.
  call,
  // For a graph node: aligned, and in any memory known to the driver. No access is required yet.
  node,
  alignment  // only aligned: the program stores the address and does not use it yet
};

// How the word of a value operation is checked. `user` is the context whose access is checked by
// value_address_check::call; by default none is. The other checks ignore it.
struct value_access {
  value_address_check check = value_address_check::call;
  memory_user user;
};

// Returns true if value operations, directly or in a graph, may use the memory. They may not use
// managed memory, or memory of a pool or a graph.
[[nodiscard]] bool supports_value_operations(const allocation& memory) noexcept;

// make_wait(), make_write() and make_work() check an operation and fill in `out`. They return
// CUDA_SUCCESS or an error. Flags are CU_STREAM_WAIT_VALUE_* and CU_STREAM_WRITE_VALUE_*; sizes are
// 4 or 8 bytes.
//
// These functions accept a write to read-only memory, and any access in a graph node. The device
// fails if the access is still missing when the operation runs.
abi::CUresult make_wait(abi::CUdeviceptr address, std::uint64_t value, std::uint32_t size,
                        unsigned flags, value_wait& out, const value_access& access = {});
abi::CUresult make_write(abi::CUdeviceptr address, std::uint64_t value, std::uint32_t size,
                         unsigned flags, value_write& out, const value_access& access = {});

// One operation of a batch. A barrier is std::monostate, because every operation here acts as one.
using value_work = std::variant<std::monostate, value_wait, value_write>;
abi::CUresult make_work(const abi::CUstreamBatchMemOpParams& operation, value_work& out,
                        const value_access& access = {});

}  // namespace weir::embedded::model
