// model/value_work.hpp - waits for and writes to words of memory, as calls and graph nodes describe
// them.
#pragma once

#include <cstdint>
#include <variant>

#include "driver/abi.hpp"
#include "embedded/model/memory/memory_access.hpp"
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

struct allocation;

inline constexpr unsigned max_batch_operations = 255;

// What is asked of a word.
enum class value_address_check : std::uint8_t {
  call,      // aligned, in device, pinned or registered memory that streams may read
  node,      // aligned, in memory that the driver knows
  alignment  // only that: the address is kept for later
};

// Who asks it.
struct value_access {
  value_address_check check = value_address_check::call;
  memory_user by;
};

// May calls, and launches of graphs, use words there? Not of managed memory, nor of a pool's or a
// graph's.
[[nodiscard]] bool supports_value_operations(const allocation& memory) noexcept;

// What follows gives CUDA_SUCCESS and the work, or what is wrong. Flags are CU_STREAM_WAIT_VALUE_*
// and CU_STREAM_WRITE_VALUE_*, sizes 4 or 8 bytes. A write of what streams may only read is given,
// and so is whatever a node is to do without access: it fails the device, unless access is there
// when it runs.
abi::CUresult make_wait(abi::CUdeviceptr address, std::uint64_t value, std::uint32_t size,
                        unsigned flags, value_wait& out, const value_access& use = {});
abi::CUresult make_write(abi::CUdeviceptr address, std::uint64_t value, std::uint32_t size,
                         unsigned flags, value_write& out, const value_access& use = {});

// One operation of a batch. A barrier needs no work, because every operation here is one.
using value_work = std::variant<std::monostate, value_wait, value_write>;
abi::CUresult make_work(const abi::CUstreamBatchMemOpParams& operation, value_work& out,
                        const value_access& use = {});

}  // namespace weir::embedded::model
