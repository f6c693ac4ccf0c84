// api/memory/pool_allocation.cpp - memory from a pool, with the waits of a patient one.
#include "api/memory/pool_allocation.hpp"

#include "api/capture/captures.hpp"
#include "api/capture/relaxed_capture_mode.hpp"
#include "api/memory/frees_in_captures.hpp"
#include "api/stream/stream_state.hpp"

#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>

namespace weir::detail {
namespace {

// Would a wait for the whole context break none of the captures that can be known of?
bool is_capture_safe(CUstream stream, call_site at) {
  if (!can_free_now()) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing", stream_ref{stream},
        at);
  return status == CU_STREAM_CAPTURE_STATUS_NONE;
}

// Lets everything that is freed already come back.
void reclaim_memory(memory_pool_ref pool, CUstream stream, call_site at) {
  drain_deferred();
  context_ref{context_of(stream, at)}.sync(at);
  pool.trim(0, at);
}

}  // namespace

CUdeviceptr allocate_from(memory_pool_ref pool, stream_ref stream, std::size_t bytes,
                          call_site at) {
  constexpr const char* call = "cuMemAllocFromPoolAsync";
  const CUstream handle = require_open(stream, call, at);
  const CUmemoryPool from = require_open(pool, call, at);
  if (any_capture_active()) throw_if_memory_in_body(capture_id_of(handle), handle, call, at);
  const relaxed_mode_if_capturing guard{at};
  CUdeviceptr address = 0;
  CUresult answer = driver().cuMemAllocFromPoolAsync(&address, bytes, from, handle);
  for (int left = pool.retries();
       answer == CUDA_ERROR_OUT_OF_MEMORY && left > 0 && is_capture_safe(handle, at); --left) {
    reclaim_memory(pool, handle, at);
    answer = driver().cuMemAllocFromPoolAsync(&address, bytes, from, handle);
  }
  check(answer, call, pool, at);
  return address;
}

}  // namespace weir::detail
