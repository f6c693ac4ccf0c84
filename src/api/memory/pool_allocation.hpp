// api/memory/pool_allocation.hpp - memory from a pool, for those that look after it themselves.
#pragma once

#include "api/core/check.hpp"

#include <weir/memory/memory_pool.hpp>

#include <cstddef>

namespace weir::detail {

// The handle to give to the driver: of an open pool, on a thread where calls are allowed.
inline CUmemoryPool require_open(memory_pool_ref pool, const char* call, call_site at) {
  require_outside_host_function(call, pool, at);
  if (pool.get() == closed_handle<CUmemPoolHandle_st>()) [[unlikely]] {
    throw_closed(call, pool, at);
  }
  return pool.get();
}

// memory_pool_ref::allocate(), with its waits where the pool is a patient one.
[[nodiscard]] CUdeviceptr allocate_from(memory_pool_ref pool, stream_ref stream, std::size_t bytes,
                                        call_site at);

}  // namespace weir::detail
