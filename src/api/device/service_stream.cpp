// api/device/service_stream.cpp - weir's own stream of each device.
#include "api/device/service_stream.hpp"

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

namespace weir::detail {

stream_ref service_stream(device gpu, call_site at) {
  constexpr const char* call = "cuStreamCreate";
  device_record& record = record_of(gpu, call, at);
  if (const CUstream cached = record.service.load(std::memory_order_acquire)) return cached;

  // Two threads may make one at once; one is kept, the other destroyed. No lock is held meanwhile.
  require_outside_host_function(call, gpu, at);
  const make_current current{primary_context(gpu, at), at};
  CUstream made = nullptr;
  check(driver().cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), call, gpu, at);
  CUstream cached = nullptr;
  if (record.service.compare_exchange_strong(cached, made, std::memory_order_acq_rel)) return made;
  report_if_failed(driver().cuStreamDestroy_v2(made), "cuStreamDestroy", stream_ref{made});
  return cached;
}

}  // namespace weir::detail
