// api/fill.cpp - memory set to one value, in stream order.
#include <weir/fill.hpp>

#include "api/check.hpp"
#include "api/operand.hpp"

namespace weir::detail {

void fill_region(stream_ref stream, const region& to, std::uint32_t bits, std::size_t element_bytes, call_site at) {
  constexpr const char* call = "cuMemsetD32Async";
  const CUstream handle = usable(stream, call, at);
  const operand target{to, stream, call, at};
  if (to.bytes == 0) return;

  const CUdeviceptr address = device_address(to.address);
  const std::size_t count = to.bytes / element_bytes;
  switch (element_bytes) {
    case 1:
      check(driver().cuMemsetD8Async(address, static_cast<unsigned char>(bits), count, handle), "cuMemsetD8Async",
            stream, at);
      break;
    case 2:
      check(driver().cuMemsetD16Async(address, static_cast<unsigned short>(bits), count, handle), "cuMemsetD16Async",
            stream, at);
      break;
    default: check(driver().cuMemsetD32Async(address, bits, count, handle), call, stream, at); break;
  }
  target.queued(at);
}

}  // namespace weir::detail
