// model/transfer.hpp - how sets and copies reach a stream: where their pointers lie, what is staged, who waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/reach.hpp"
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

class stream;

// What a call may be given: memory that the driver knows, or any, where unknown memory is the host's own.
enum class place_kind : std::uint8_t { known, any };

// Where one side of a set or copy lies.
struct place {
  std::byte* at = nullptr;
  const allocation* in = nullptr;  // null: pageable memory of the program, of which nothing is known

  [[nodiscard]] bool pageable() const noexcept { return in == nullptr; }
  [[nodiscard]] bool on_host() const noexcept { return in == nullptr || in->on_host; }
  [[nodiscard]] bool sync_memops() const noexcept {
    return in != nullptr && in->sync_memops.load(std::memory_order_relaxed);
  }
};

// What is done with one side of a set or copy.
inline constexpr auto to_read = abi::CU_MEM_ACCESS_FLAGS_PROT_READ;
inline constexpr auto to_write = abi::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;

// Is it to a call as the host's, whatever devices may do with it? So is memory of a host pool where any memory will do.
inline bool is_as_the_hosts(const allocation& in, place_kind kind) noexcept {
  return kind == place_kind::any && in.on_host && in.kind == memory_kind::pooled;
}

// Does the user's device reach all of a place?
inline bool reaches(const memory_user& by, const place& of, place_kind kind, std::size_t bytes,
                    abi::CUmemAccess_flags wanted) noexcept {
  if (of.in == nullptr || is_as_the_hosts(*of.in, kind)) return true;
  return reaches(by, *of.in, reinterpret_cast<std::uintptr_t>(of.at), bytes, wanted);
}

// When that is: at once, in stream order, or when a graph runs that it is part of. Memory that graphs allocate is there
// for the latter, whether or not it is live now.
enum class use_time : std::uint8_t { now, in_graph };

// Finds the place of `bytes` bytes, more than none. CUDA_ERROR_INVALID_VALUE for null, for unknown memory where known
// memory is asked for, for what goes past the end of an allocation, and for memory that does not let it be done, by
// anyone or by this user.
inline abi::CUresult locate(std::uintptr_t address, std::size_t bytes, place_kind kind, abi::CUmemAccess_flags wanted,
                            place& out, use_time when = use_time::now, const memory_user& by = {}) noexcept {
  const allocation* in = address_map::find(address);
  if (in == nullptr && when == use_time::in_graph) {
    in = address_map::find_of_graph(address, bytes);
    if (in != nullptr) {
      out = {reinterpret_cast<std::byte*>(address), in};
      return reaches(by, *in, address, bytes, wanted) ? abi::CUDA_SUCCESS : abi::CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (in == nullptr) {
    constexpr std::uintptr_t lowest_mapping = 65536;  // below it no program has memory
    if (kind == place_kind::known || address < lowest_mapping) return abi::CUDA_ERROR_INVALID_VALUE;
  } else if (!in->holds_range(address, bytes) || !(in->lets(wanted) || is_as_the_hosts(*in, kind))) {
    if (!address_map::is_mapped_throughout(address, bytes, wanted)) return abi::CUDA_ERROR_INVALID_VALUE;
  }
  out = {reinterpret_cast<std::byte*>(address), in};
  if (by.who != nullptr && !reaches(by, out, kind, bytes, wanted)) [[unlikely]]
    return abi::CUDA_ERROR_INVALID_VALUE;
  return abi::CUDA_SUCCESS;
}

// When a copy reads pageable memory that it copies from.
enum class source_reading : std::uint8_t {
  as_fits,     // small sources at the call, so that it returns at once; large ones in order, and the call waits
  during_call  // before the call returns, whatever else it is
};

// What follows answers in the driver's codes, and throws std::bad_alloc before anything is submitted.

// Copies in stream order. Returns at once, except where pageable memory is written, or too large a piece of it read.
// In a capture nothing is staged and nothing waited for: what is captured reads its source when it runs.
abi::CUresult copy_in_order(stream& in, const place& to, const place& from, std::size_t bytes,
                            source_reading reading = source_reading::as_fits);
abi::CUresult copy_in_order(stream& in, const place& to, const place& from, const pitched_copy_work& work,
                            source_reading reading = source_reading::as_fits);

// Copies for a call that is synchronous: returns when the copy is done if host memory takes part, or memory whose
// operations are to be waited for; copies between device memory only are ordered in the stream.
abi::CUresult copy_now(stream& in, const place& to, const place& from, std::size_t bytes);
abi::CUresult copy_now(stream& in, const place& to, const place& from, const pitched_copy_work& work);

// The same for sets.
abi::CUresult set_now(stream& in, const place& to, const set_work& work);

}  // namespace weir::embedded::model
