// api/memory/pool_allocation.cpp - memory from a pool, with the waits of a patient one.
#include "api/memory/pool_allocation.hpp"

#include "api/capture/captures.hpp"
#include "api/memory/frees_in_captures.hpp"
#include "api/capture/relaxed_captures.hpp"
#include "api/stream/stream_state.hpp"

#include <weir/device/context.hpp>
#include <weir/core/deferred.hpp>

namespace weir::detail {
namespace {

// Would a wait for the whole context break none of the captures that can be known of?
bool breaks_no_capture(CUstream stream, call_site at) {
  if (!may_free()) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing", stream_ref{stream}, at);
  return status == CU_STREAM_CAPTURE_STATUS_NONE;
}

// Lets everything that is freed already come back.
void make_room(memory_pool_ref pool, CUstream stream, call_site at) {
  drain_deferred();
  context_ref{context_of(stream, at)}.sync(at);
  pool.trim(0, at);
}

}  // namespace

CUdeviceptr allocate_from(memory_pool_ref pool, stream_ref stream, std::size_t bytes, call_site at) {
  constexpr const char* call = "cuMemAllocFromPoolAsync";
  const CUstream handle = usable(stream, call, at);
  const CUmemoryPool from = usable(pool, call, at);
  if (captures_open()) refuse_memory_in_body(id_of_capture(handle), handle, call, at);
  const relaxed_in_our_captures unharmed{at};
  CUdeviceptr address = 0;
  CUresult answer = driver().cuMemAllocFromPoolAsync(&address, bytes, from, handle);
  for (int left = pool.retries(); answer == CUDA_ERROR_OUT_OF_MEMORY && left > 0 && breaks_no_capture(handle, at);
       --left) {
    make_room(pool, handle, at);
    answer = driver().cuMemAllocFromPoolAsync(&address, bytes, from, handle);
  }
  check(answer, call, pool, at);
  return address;
}

}  // namespace weir::detail
