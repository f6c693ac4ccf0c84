// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/stream_memory.cpp - cuMemAllocAsync and cuMemFreeAsync: stream-ordered
// allocation.
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

// Adds an allocation node to the capture of the stream. The node's memory comes from the pool's
// device, with the access that the pool grants.
CUresult capture_allocation(model::capture& active_capture, const model::memory_pool& pool,
                            std::size_t bytes, model::stream& requesting_stream,
                            CUdeviceptr* address) {
  if (!pool.location().is_device()) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<CUmemAccessDesc> access;
  for (int user = 0; user < model::this_process().device_count(); ++user) {
    const CUmemAccess_flags flags = pool.access_of(user);
    if (user == pool.owner_device().ordinal() || flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) continue;
    access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, user}, flags});
  }
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, pool.owner_device().ordinal()};
  params.accessDescs = access.data();
  params.accessDescCount = access.size();
  params.bytesize = bytes;
  return active_capture.allocate(requesting_stream, params, address);
}

// Returns the error of a capture for an allocation or a free in the stream. In a stream that does
// not capture, the call is unsafe for captures of other streams (model::check_unsafe_call()).
CUresult check_captures(const model::stream& requesting_stream) {
  return requesting_stream.capture() != nullptr ? model::check_capture_valid(requesting_stream)
                                                : model::check_unsafe_call();
}

// Runs body(stream) for an allocation in a stream. Stores 0 in `*address` first, also for a call
// that fails. The errors of captures precede those of the arguments.
template <class Body>
CUresult with_allocating_stream(CUdeviceptr* address, CUstream stream, Body body) {
  const auto check_and_run = [&](model::stream& requesting_stream) {
    const CUresult status = check_captures(requesting_stream);
    return status == CUDA_SUCCESS ? body(requesting_stream) : status;
  };
  return guarded_outside_host_functions([&] {
    if (address != nullptr) *address = 0;
    return with_stream(stream, check_and_run)();
  });
}

// Allocates from a pool, or adds an allocation node if the stream captures. A size of 0 gives a
// null address and adds no node.
CUresult allocate(const pool_generation& source, std::size_t bytes,
                  model::stream& requesting_stream, CUdeviceptr* address) {
  if (model::capture* active_capture = requesting_stream.capture();
      active_capture != nullptr && bytes != 0) {
    return capture_allocation(*active_capture, *source.pool, bytes, requesting_stream, address);
  }
  return source.pool->allocate(bytes, requesting_stream, source.generation, address);
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return with_allocating_stream(address, stream, [&](model::stream& requesting_stream) {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (;;) {
      const pool_generation current =
          model::pool_registry::current_pool_with_generation(requesting_stream.owner().owner());
      const CUresult status = allocate(current, bytes, requesting_stream, address);
      // If another thread has destroyed the pool, tries again with the new current pool.
      if (status != CUDA_ERROR_INVALID_VALUE || current.pool->generation() == current.generation)
        return status;
    }
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return with_allocating_stream(address, stream, [&](model::stream& requesting_stream) {
    const pool_generation source = model::pool_registry::find_with_generation(pool);
    if (address == nullptr || source.pool == nullptr || source.pool->sharing.imported())
      return CUDA_ERROR_INVALID_VALUE;
    return allocate(source, bytes, requesting_stream, address);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return guarded_outside_host_functions(with_stream(stream, [&](model::stream& target_stream) {
    if (const CUresult error = check_captures(target_stream)) return error;
    if (address == 0) return CUDA_SUCCESS;  // also in a capture, where it adds no node
    if (model::capture* active_capture = target_stream.capture())
      return active_capture->free(target_stream, address);
    return model::memory::free_async(address, target_stream);
  }));
}

}  // namespace weir::embedded::entry
