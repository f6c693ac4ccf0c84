// SPDX-License-Identifier: Apache-2.0
// api/device/service_stream.cpp - weir's internal stream of each device.
#include "api/device/service_stream.hpp"

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

namespace weir::detail {

stream_ref service_stream(device gpu, call_site at) {
  constexpr const char* call = "cuStreamCreate";
  device_record& record = record_of(gpu, call, at);
  if (const CUstream cached = record.service.load(std::memory_order_acquire)) return cached;

  // Two threads may create a stream at once, because no lock is held. The thread whose
  // compare_exchange fails destroys its stream.
  require_outside_host_function(call, gpu, at);
  const make_current current{primary_context(gpu, at), at};
  CUstream stream = nullptr;
  check(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), call, gpu, at);
  CUstream cached = nullptr;
  if (record.service.compare_exchange_strong(cached, stream, std::memory_order_acq_rel))
    return stream;
  report_if_failed(driver().cuStreamDestroy_v2(stream), "cuStreamDestroy", stream_ref{stream});
  return cached;
}

}  // namespace weir::detail
