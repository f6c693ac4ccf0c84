// SPDX-License-Identifier: Apache-2.0
// api/memory/fill.cpp - sets memory to one value, in stream order.
#include <weir/detail/direct_call.hpp>
#include <weir/memory/fill.hpp>

#include "api/core/check.hpp"
#include "api/memory/operand.hpp"
#include "api/stream/direct_driver.hpp"

namespace weir::detail {
namespace {

[[nodiscard]] const char* call_for(std::size_t element_bytes) noexcept {
  return element_bytes == 1   ? "cuMemsetD8Async"
         : element_bytes == 2 ? "cuMemsetD16Async"
                              : "cuMemsetD32Async";
}

// Queues a fill with elements of 1, 2 or 4 bytes. Ends in the driver call, so that fill_directly(),
// into which it is inlined, ends in a tail call (direct_driver.hpp).
[[nodiscard, gnu::always_inline]] inline CUresult enqueue_memset(const driver_table& driver,
                                                                 void* address, std::uint32_t bits,
                                                                 std::size_t bytes, CUstream stream,
                                                                 std::size_t element_bytes) {
  const CUdeviceptr target = device_address(address);
  switch (element_bytes) {
    case 1: return driver.cuMemsetD8Async(target, static_cast<unsigned char>(bits), bytes, stream);
    case 2:
      return driver.cuMemsetD16Async(target, static_cast<unsigned short>(bits), bytes / 2, stream);
    default: return driver.cuMemsetD32Async(target, bits, bytes / 4, stream);
  }
}

}  // namespace

direct_status fill_directly(void* address, std::uint32_t bits, std::size_t bytes, CUstream stream,
                            const tracked_memory* owner, std::size_t element_bytes) {
  const driver_table* const driver = direct_driver();
  if (driver == nullptr || bytes == 0 || !is_open(stream)) [[unlikely]] {
    return direct_status::not_called;
  }
  if (!is_untracked(region{address, bytes, owner}, stream)) [[unlikely]] {
    return direct_status::not_called;
  }
  return static_cast<direct_status>(
      enqueue_memset(*driver, address, bits, bytes, stream, element_bytes));
}

void fill_slow(stream_ref stream, const region& target, std::uint32_t bits,
               std::size_t element_bytes, direct_status status, call_site at) {
  const char* const call = call_for(element_bytes);
  if (status != direct_status::not_called) throw_driver_error(to_errc(status), call, stream, at);
  const CUstream handle = require_open(stream, call, at);
  const operand use{target, stream, call, at};
  if (target.bytes == 0) return;
  check(enqueue_memset(driver(), target.address, bits, target.bytes, handle, element_bytes), call,
        stream, at);
  use.record_uses(at);
}

}  // namespace weir::detail
