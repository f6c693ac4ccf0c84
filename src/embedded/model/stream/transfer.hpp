// SPDX-License-Identifier: Apache-2.0
// model/stream/transfer.hpp - finds the memory of sets and copies, and submits them for synchronous
// and asynchronous calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/memory_access.hpp"
#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

class stream;

// The memory that a call accepts.
enum class operand_kind : std::uint8_t {
  known,  // only memory known to the driver
  any     // also other memory, which counts as pageable host memory
};

// The memory of a memset, or one side of a copy.
struct memory_operand {
  std::byte* data = nullptr;
  // The allocation that contains the memory; null for the program's pageable memory.
  const allocation* record = nullptr;
  // True if the call names this side host memory, like the source of cuMemcpyHtoD.
  bool host_side = false;

  [[nodiscard]] bool pageable() const noexcept { return record == nullptr; }
  [[nodiscard]] bool on_host() const noexcept { return record == nullptr || record->on_host; }
  // Returns true for managed memory that the call names host memory. A GPU's driver then waits.
  [[nodiscard]] bool managed_host_side() const noexcept {
    return host_side && record != nullptr && record->kind == memory_kind::managed;
  }
  [[nodiscard]] bool sync_memops() const noexcept {
    return record != nullptr && record->sync_memops.load(std::memory_order_relaxed);
  }
};

// The access that the source and the destination of a set or copy need.
inline constexpr auto read_access = abi::CU_MEM_ACCESS_FLAGS_PROT_READ;
inline constexpr auto write_access = abi::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

// Returns true if a call treats the memory as host memory and therefore does not check the access
// of devices. This is so for memory of a host pool in a call that accepts any memory.
inline bool is_treated_as_host_memory(const allocation& record, operand_kind kind) noexcept {
  return kind == operand_kind::any && record.on_host && record.kind == memory_kind::pooled;
}

// Returns true if the user's device may access the whole operand.
inline bool can_access(const memory_user& user, const memory_operand& operand, operand_kind kind,
                       std::size_t bytes, abi::CUmemAccess_flags requested) noexcept {
  if (operand.record == nullptr || is_treated_as_host_memory(*operand.record, kind)) return true;
  return can_access(user, *operand.record, reinterpret_cast<std::uintptr_t>(operand.data), bytes,
                    requested);
}

// When the operand is accessed.
enum class access_time : std::uint8_t {
  now,      // by the call, or by work that the call submits
  in_graph  // when a graph runs; the operand may be graph memory that is not allocated yet
};

// Finds the memory of one side of a set or copy, which spans `bytes` bytes from an address on.
// `bytes` must not be 0. The default `user` may access all memory.
//
// Returns CUDA_ERROR_INVALID_VALUE for addresses below 64 KiB, for memory unknown to the driver if
// `kind` is `known`, for a range past the end of an allocation, and for missing access. A range may
// extend over adjacent mappings of cuMemMap.
inline abi::CUresult resolve_operand(std::uintptr_t address, std::size_t bytes, operand_kind kind,
                                     abi::CUmemAccess_flags requested, memory_operand& out,
                                     access_time time = access_time::now,
                                     const memory_user& user = {}) noexcept {
  const allocation* record = address_map::find(address);
  if (record == nullptr && time == access_time::in_graph) {
    record = address_map::find_graph_memory(address, bytes);
    if (record != nullptr) {
      out = {reinterpret_cast<std::byte*>(address), record};
      return can_access(user, *record, address, bytes, requested) ? abi::CUDA_SUCCESS
                                                                  : abi::CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (record == nullptr) {
    constexpr std::uintptr_t lowest_mapping = 65536;  // no program has memory below it
    if (kind == operand_kind::known || address < lowest_mapping)
      return abi::CUDA_ERROR_INVALID_VALUE;
  } else if (!record->holds_range(address, bytes) ||
             !(record->allows(requested) || is_treated_as_host_memory(*record, kind))) {
    if (!address_map::is_fully_mapped(address, bytes, requested))
      return abi::CUDA_ERROR_INVALID_VALUE;
  }
  out = {reinterpret_cast<std::byte*>(address), record};
  if (user.user_context != nullptr && !can_access(user, out, kind, bytes, requested)) [[unlikely]]
    return abi::CUDA_ERROR_INVALID_VALUE;
  return abi::CUDA_SUCCESS;
}

// When a copy may read its source.
enum class source_access_order : std::uint8_t {
  as_cuda_chooses,  // of a call without such a choice, such as cuMemcpyAsync
  in_stream_order,  // CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
  during_call,      // CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL: before the call returns
  any_order         // CU_MEMCPY_SRC_ACCESS_ORDER_ANY: at any time
};

// copy_async(), copy_sync() and memset_sync() return the driver's codes. If they throw
// std::bad_alloc, they have submitted nothing.

// Copies in stream order. The call may stage the source, that is, copy it to the driver's own
// memory, or block until the copy is complete: see copy_plan in transfer.cpp. In a capture it does
// neither; the captured copy reads its source when it runs.
abi::CUresult copy_async(stream& target_stream, const memory_operand& dst,
                         const memory_operand& src, std::size_t bytes,
                         source_access_order source_order = source_access_order::as_cuda_chooses);
abi::CUresult copy_async(stream& target_stream, const memory_operand& dst,
                         const memory_operand& src, const pitched_copy_work& work,
                         source_access_order source_order = source_access_order::as_cuda_chooses);

// Copies for a synchronous call. Blocks until the copy is complete if one side is host memory or
// has CU_POINTER_ATTRIBUTE_SYNC_MEMOPS set. A copy between other device memory is only submitted to
// the stream, as on a GPU. With host_waits::least, a copy from pageable to device memory blocks
// only until the work before it is complete and the source has been read.
abi::CUresult copy_sync(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                        std::size_t bytes);
abi::CUresult copy_sync(stream& target_stream, const memory_operand& dst, const memory_operand& src,
                        const pitched_copy_work& work);

// Like copy_sync(), for a memset.
abi::CUresult memset_sync(stream& target_stream, const memory_operand& dst,
                          const memset_work& work);

}  // namespace weir::embedded::model
