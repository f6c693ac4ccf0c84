// entry/stream_memory.cpp - cuMemAllocAsync and cuMemFreeAsync: memory that comes and goes in the order of a stream.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory.hpp"
#include "embedded/model/memory_pool.hpp"
#include "embedded/model/pool_registry.hpp"

namespace weir::embedded::entry {

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* by = nullptr;
    if (const CUresult status = find_stream(p, stream, by); status != CUDA_SUCCESS) return status;
    return model::pool_registry::current_pool(by->owner().owner()).allocate(bytes, *by, address);
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::memory_pool* from = model::pool_registry::find(pool);
    if (address == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* by = nullptr;
    if (const CUresult status = find_stream(p, stream, by); status != CUDA_SUCCESS) return status;
    return from->allocate(bytes, *by, address);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    return model::memory::free_in_order(address, *in);
  });
}

}  // namespace weir::embedded::entry
