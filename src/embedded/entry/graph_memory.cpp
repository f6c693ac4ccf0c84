// entry/graph_memory.cpp - cuDevice*GraphMem*: the memory that graphs hold, which is none, for their nodes allocate none.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

namespace {

template <class Body>
CUresult with_device(CUdevice ordinal, Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    return p.find_device(ordinal) != nullptr ? body() : CUDA_ERROR_INVALID_DEVICE;
  });
}

}  // namespace

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return with_device(device, [&] {
    if (value == nullptr || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<cuuint64_t*>(value) = 0;
    return CUDA_SUCCESS;
  });
}

// The high marks can be set, to zero.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return with_device(device, [&] {
    const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    return high && value != nullptr && *static_cast<const cuuint64_t*>(value) == 0 ? CUDA_SUCCESS
                                                                                   : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return with_device(device, [] { return CUDA_SUCCESS; });
}

}  // namespace weir::embedded::entry
