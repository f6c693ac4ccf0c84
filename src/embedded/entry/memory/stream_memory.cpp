// entry/stream_memory.cpp - cuMemAllocAsync and cuMemFreeAsync: memory that comes and goes in the
// order of a stream.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/memory/memory.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

#include <vector>

namespace weir::embedded::entry {

namespace {

using model::pool_registry::pool_generation;

// In a stream that captures, an allocation becomes a node of the graph, which has its memory from
// the device of the pool.
CUresult capture_allocation(model::capture& into, const model::memory_pool& from, std::size_t bytes,
                            model::stream& by, CUdeviceptr* address) {
  if (!from.location().is_device()) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<CUmemAccessDesc> access;
  for (int user = 0; user < model::this_process().device_count(); ++user) {
    const CUmemAccess_flags flags = from.access_of(user);
    if (user == from.owner().ordinal() || flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) continue;
    access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, user}, flags});
  }
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, from.owner().ordinal()};
  params.accessDescs = access.data();
  params.accessDescCount = access.size();
  params.bytesize = bytes;
  return into.allocate(by, params, address);
}

// In one that does not capture it is unsafe while others do.
CUresult allocate(const pool_generation& from, std::size_t bytes, model::stream& by,
                  CUdeviceptr* address) {
  if (model::capture* into = by.capture(); into != nullptr && bytes != 0) {
    return capture_allocation(*into, *from.pool, bytes, by, address);
  }
  if (by.capture() == nullptr) {
    if (const CUresult status = model::check_unsafe_call(); status != CUDA_SUCCESS) return status;
  }
  return from.pool->allocate(bytes, by, from.generation, address);
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* by = nullptr;
    if (const CUresult status = find_stream(p, stream, by); status != CUDA_SUCCESS) return status;
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (;;) {
      const pool_generation current =
          model::pool_registry::current_pool_with_generation(by->owner().owner());
      const CUresult status = allocate(current, bytes, *by, address);
      // If it has ended meanwhile, another one is current.
      if (status != CUDA_ERROR_INVALID_VALUE || current.pool->generation() == current.generation)
        return status;
    }
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* by = nullptr;
    if (const CUresult status = find_stream(p, stream, by); status != CUDA_SUCCESS) return status;
    const pool_generation from = model::pool_registry::find_with_generation(pool);
    if (address == nullptr || from.pool == nullptr || from.pool->sharing.imported())
      return CUDA_ERROR_INVALID_VALUE;
    return allocate(from, bytes, *by, address);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    if (model::capture* into = in->capture()) return into->free(*in, address);
    if (const CUresult status = model::check_unsafe_call(); status != CUDA_SUCCESS) return status;
    return model::memory::free_async(address, *in);
  });
}

}  // namespace weir::embedded::entry
