// SPDX-License-Identifier: Apache-2.0
// api/memory/pool_allocation.cpp - allocation from a pool, with the waits of a retrying pool.
#include "api/memory/pool_allocation.hpp"

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_query.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/stream/stream_state.hpp"

#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>

#include <fmt/format.h>

namespace weir::detail {
namespace {

// Returns true if neither `stream` nor any stream that weir knows is capturing, and this thread may
// free memory. A wait for the whole context then invalidates no capture that weir can detect.
bool is_capture_safe(CUstream stream, call_site at) {
  return can_free_now() && query_capture_status(stream, at) == CU_STREAM_CAPTURE_STATUS_NONE;
}

// Waits for all deferred tasks, among them frees, and for all work of the context, and returns
// unused memory of the pool to the system.
void reclaim_memory(memory_pool_ref pool, CUstream stream, call_site at) {
  drain_deferred();
  context_ref{context_of(stream, at)}.sync(at);
  pool.trim(0, at);
}

// Returns true if the pool holds no memory. Then no free makes room for a request that does not
// fit.
bool holds_nothing(CUmemoryPool pool) noexcept {
  first_failure ignored;
  const relaxed_capture_mode guard{ignored};  // the query would break captures
  cuuint64_t reserved = 1;
  return driver().cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) ==
             CUDA_SUCCESS &&
         reserved == 0;
}

[[noreturn, gnu::cold]] void fail_allocation(CUresult answer, const char* call,
                                             memory_pool_ref pool, std::size_t bytes,
                                             call_site at) {
  if (answer == CUDA_ERROR_OUT_OF_MEMORY && holds_nothing(pool.get())) {
    throw_error(errc::out_of_memory, call, to_text(pool),
                fmt::format("the pool holds no memory, and {} bytes exceed its max_size or the "
                            "free memory of the device, so pool.retrying() does not help; request "
                            "less, set a larger max_size, or free other memory",
                            bytes),
                at);
  }
  throw_driver_error(static_cast<errc>(answer), call, pool, at);
}

}  // namespace

CUdeviceptr allocate_from(memory_pool_ref pool, stream_ref stream, std::size_t bytes,
                          call_site at) {
  constexpr const char* call = "cuMemAllocFromPoolAsync";
  const CUstream handle = require_open(stream, call, at);
  const CUmemoryPool pool_handle = require_open(pool, call, at);
  if (any_capture_active()) throw_if_memory_in_body(capture_id_of(handle), handle, call, at);
  const relaxed_mode_if_capturing guard{at};
  CUdeviceptr address = 0;
  CUresult answer = driver().cuMemAllocFromPoolAsync(&address, bytes, pool_handle, handle);
  for (int retries_left = pool.retries();
       answer == CUDA_ERROR_OUT_OF_MEMORY && retries_left > 0 && is_capture_safe(handle, at);
       --retries_left) {
    reclaim_memory(pool, handle, at);
    answer = driver().cuMemAllocFromPoolAsync(&address, bytes, pool_handle, handle);
  }
  if (answer != CUDA_SUCCESS) fail_allocation(answer, call, pool, bytes, at);
  return address;
}

}  // namespace weir::detail
