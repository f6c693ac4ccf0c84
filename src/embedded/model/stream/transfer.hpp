// model/transfer.hpp - how sets and copies reach a stream: where their pointers lie, what is
// staged, who waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/memory_access.hpp"
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

class stream;

// What a call may be given: memory that the driver knows, or any, where unknown memory is the
// host's own.
enum class operand_kind : std::uint8_t { known, any };

// Where one side of a set or copy lies.
struct memory_operand {
  std::byte* at = nullptr;
  const allocation* in =
      nullptr;  // null: pageable memory of the program, of which nothing is known

  [[nodiscard]] bool pageable() const noexcept { return in == nullptr; }
  [[nodiscard]] bool on_host() const noexcept { return in == nullptr || in->on_host; }
  [[nodiscard]] bool sync_memops() const noexcept {
    return in != nullptr && in->sync_memops.load(std::memory_order_relaxed);
  }
};

// What is done with one side of a set or copy.
inline constexpr auto read_access = abi::CU_MEM_ACCESS_FLAGS_PROT_READ;
inline constexpr auto write_access = abi::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

// Is it to a call as the host's, whatever devices may do with it? So is memory of a host pool where
// any memory will do.
inline bool is_treated_as_host_memory(const allocation& in, operand_kind kind) noexcept {
  return kind == operand_kind::any && in.on_host && in.kind == memory_kind::pooled;
}

// Does the user's device reach all of a place?
inline bool can_access(const memory_user& by, const memory_operand& of, operand_kind kind,
                       std::size_t bytes, abi::CUmemAccess_flags wanted) noexcept {
  if (of.in == nullptr || is_treated_as_host_memory(*of.in, kind)) return true;
  return can_access(by, *of.in, reinterpret_cast<std::uintptr_t>(of.at), bytes, wanted);
}

// When that is: at once, in stream order, or when a graph runs that it is part of. Memory that
// graphs allocate is there for the latter, whether or not it is live now.
enum class access_time : std::uint8_t { now, in_graph };

// Finds the place of `bytes` bytes, more than none. CUDA_ERROR_INVALID_VALUE for null, for unknown
// memory where known memory is asked for, for what goes past the end of an allocation, and for
// memory that does not let it be done, by anyone or by this user.
inline abi::CUresult resolve_operand(std::uintptr_t address, std::size_t bytes, operand_kind kind,
                                     abi::CUmemAccess_flags wanted, memory_operand& out,
                                     access_time when = access_time::now,
                                     const memory_user& by = {}) noexcept {
  const allocation* in = address_map::find(address);
  if (in == nullptr && when == access_time::in_graph) {
    in = address_map::find_graph_memory(address, bytes);
    if (in != nullptr) {
      out = {reinterpret_cast<std::byte*>(address), in};
      return can_access(by, *in, address, bytes, wanted) ? abi::CUDA_SUCCESS
                                                         : abi::CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (in == nullptr) {
    constexpr std::uintptr_t lowest_mapping = 65536;  // below it no program has memory
    if (kind == operand_kind::known || address < lowest_mapping)
      return abi::CUDA_ERROR_INVALID_VALUE;
  } else if (!in->holds_range(address, bytes) ||
             !(in->allows(wanted) || is_treated_as_host_memory(*in, kind))) {
    if (!address_map::is_fully_mapped(address, bytes, wanted)) return abi::CUDA_ERROR_INVALID_VALUE;
  }
  out = {reinterpret_cast<std::byte*>(address), in};
  if (by.user_context != nullptr && !can_access(by, out, kind, bytes, wanted)) [[unlikely]]
    return abi::CUDA_ERROR_INVALID_VALUE;
  return abi::CUDA_SUCCESS;
}

// When a copy reads pageable memory that it copies from.
enum class source_access_order : std::uint8_t {
  any_order,  // small sources at the call, so that it returns at once; large ones in order, and the
              // call waits
  during_call  // before the call returns, whatever else it is
};

// What follows answers in the driver's codes, and throws std::bad_alloc before anything is
// submitted.

// Copies in stream order. Returns at once, except where pageable memory is written, or too large a
// piece of it read. In a capture nothing is staged and nothing waited for: what is captured reads
// its source when it runs.
abi::CUresult copy_async(stream& in, const memory_operand& to, const memory_operand& from,
                         std::size_t bytes,
                         source_access_order reading = source_access_order::any_order);
abi::CUresult copy_async(stream& in, const memory_operand& to, const memory_operand& from,
                         const pitched_copy_work& work,
                         source_access_order reading = source_access_order::any_order);

// Copies for a call that is synchronous: returns when the copy is done if host memory takes part,
// or memory whose operations are to be waited for; copies between device memory only are ordered in
// the stream.
abi::CUresult copy_sync(stream& in, const memory_operand& to, const memory_operand& from,
                        std::size_t bytes);
abi::CUresult copy_sync(stream& in, const memory_operand& to, const memory_operand& from,
                        const pitched_copy_work& work);

// The same for sets.
abi::CUresult memset_sync(stream& in, const memory_operand& to, const memset_work& work);

}  // namespace weir::embedded::model
