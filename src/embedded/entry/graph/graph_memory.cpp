// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph_memory.cpp - cuGraph*MemAllocNode, cuGraph*MemFreeNode,
// cuDevice*GraphMem*: memory that graphs allocate.
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/entry/graph/graph_handle.hpp"

#include <cstring>
#include <span>

namespace weir::embedded::entry {

namespace {

// Checks the access descriptors of an allocation node. Each must grant a device or the host both
// read and write access.
CUresult check_access(std::span<const CUmemAccessDesc> requested) {
  for (const CUmemAccessDesc& access_desc : requested) {
    if (access_desc.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
      if (model::this_process().find_device(access_desc.location.id) == nullptr)
        return CUDA_ERROR_INVALID_DEVICE;
    } else if (access_desc.location.type != CU_MEM_LOCATION_TYPE_HOST) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (access_desc.flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
        access_desc.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (access_desc.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Checks the location of the memory of a new allocation node. Only device memory is supported.
// Managed memory on a device is accepted and treated as device memory.
CUresult check_pool_location(CUmemAllocationType type, const CUmemLocation& location) {
  const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (!managed && type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return model::this_process().find_device(location.id) != nullptr ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST: return CUDA_ERROR_NOT_SUPPORTED;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:  // the host is a single NUMA node
      return managed || location.id == 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_NONE:
      return managed ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult check_params(const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  const CUmemPoolProps& props = params.poolProps;
  if (params.bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_pool_location(props.allocType, props.location)) return error;
  if (props.handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  if (params.accessDescCount == 0) return CUDA_SUCCESS;
  if (params.accessDescs == nullptr ||
      params.accessDescCount > static_cast<std::size_t>(model::this_process().device_count()))
    return CUDA_ERROR_INVALID_VALUE;
  return check_access({params.accessDescs, params.accessDescCount});
}

}  // namespace

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return guarded_outside_host_functions([&] {
    const auto make = [&](model::graph& target_graph, const auto& predecessors,
                          model::graph_node*& created) {
      if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
      if (const CUresult error = check_params(*params)) return error;
      if (const CUresult error =
              model::graph_memory::add_allocation(target_graph, *params, predecessors, created))
        return error;
      params->dptr = std::get<model::alloc_params>(created->params).desc.dptr;
      return CUDA_SUCCESS;
    };
    return add_node(node, graph, dependencies, count, make);
  });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr address) {
  return guarded_outside_host_functions([&] {
    const auto make = [&](model::graph& target_graph, const auto& predecessors,
                          model::graph_node*& created) {
      return model::graph_memory::add_free(target_graph, address, predecessors, created);
    };
    return add_node(node, graph, dependencies, count, make);
  });
}

// The array of access descriptors in `params` belongs to the driver and stays valid while the node
// exists.
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return get_params<model::alloc_params>(node, params, [](const model::alloc_params& p) {
    CUDA_MEM_ALLOC_NODE_PARAMS desc = p.desc;
    desc.accessDescs = p.access.empty() ? nullptr : p.access.data();
    return desc;
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  return get_params<model::free_params>(
      node, address, [](const model::free_params& p) { return p.block->address(); });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  return with_device(device, [&](model::device& owner_device) {
    std::size_t result = 0;
    if (value == nullptr || !owner_device.graph_memory.get(attribute, result))
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(value, &result, sizeof result);
    return CUDA_SUCCESS;
  });
}

// Only high-water marks can be set, and only to zero, which resets them to the current value.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  return with_device(device, [&](model::device& owner_device) {
    cuuint64_t requested = 1;
    if (value != nullptr) std::memcpy(&requested, value, sizeof requested);
    return requested == 0 && owner_device.graph_memory.reset(attribute) ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return with_device(device, [](model::device& owner_device) {
    owner_device.graph_memory.trim();
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
