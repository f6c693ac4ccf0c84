// entry/managed_memory.cpp - cuMemAllocManaged, and advice about memory that never has to move.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture.hpp"
#include "embedded/model/memory.hpp"

namespace weir::embedded::entry {

namespace {

// Managed memory that holds all of these bytes; null where there is none.
const model::allocation* find_managed(CUdeviceptr address, std::size_t bytes) {
  const model::allocation* found = model::address_map::find(address);
  if (found == nullptr || found->kind != model::memory_kind::managed) return nullptr;
  return found->holds_range(address, bytes) ? found : nullptr;
}

// The calls of before CUDA 12.2 name a place by its device's number.
CUmemLocation location_of(CUdevice device) {
  return device == CU_DEVICE_CPU ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}
                                 : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, device};
}

CUresult check_location(const model::process& p, const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return p.find_device(location.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_INVALID: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return guarded_outside_captures([&](model::process&) -> CUresult {
    model::context* context = nullptr;
    if (const CUresult status = current_context(context); status != CUDA_SUCCESS) return status;
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return model::memory::allocate_managed(*context, bytes, flags, address);
  });
}

// Whom the memory is attached to decides when the host may touch it; here it may at any time.
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length, unsigned flags) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    if (const CUresult status = model::refuse_in_capture(*in); status != CUDA_SUCCESS) return status;
    if (const CUresult status = model::refuse_unsafe_call(); status != CUDA_SUCCESS) return status;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_MEM_ATTACH_SINGLE && stream == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::allocation* found = find_managed(address, length);
    const bool whole = found != nullptr && found->start() == address &&
                       (length == 0 || length == found->bytes.load(std::memory_order_relaxed));
    return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t count, CUmemLocation location, unsigned flags,
                               CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    if (const CUresult status = model::refuse_in_capture(*in); status != CUDA_SUCCESS) return status;
    if (flags != 0 || count == 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_location(p, location); status != CUDA_SUCCESS) return status;
    return find_managed(address, count) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice dst, CUstream stream) {
  return cuMemPrefetchAsync_v2(address, count, location_of(dst), 0, stream);
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t count, CUmem_advise advice, CUmemLocation location) {
  return guarded_outside_captures([&](model::process& p) -> CUresult {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY || count == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult status = check_location(p, location); status != CUDA_SUCCESS) return status;
    return find_managed(address, count) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device) {
  return cuMemAdvise_v2(address, count, advice, location_of(device));
}

}  // namespace weir::embedded::entry
