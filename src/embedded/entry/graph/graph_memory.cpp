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
CUresult check_access(const model::process& p, std::span<const CUmemAccessDesc> requested) {
  for (const CUmemAccessDesc& access_desc : requested) {
    if (access_desc.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
      if (p.find_device(access_desc.location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
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
CUresult check_pool_location(const model::process& p, CUmemAllocationType type,
                             const CUmemLocation& location) {
  const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (!managed && type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return p.find_device(location.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST: return CUDA_ERROR_NOT_SUPPORTED;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:  // the host is a single NUMA node
      return managed || location.id == 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_NONE:
      return managed ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult check_params(const model::process& p, const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  const CUmemPoolProps& props = params.poolProps;
  if (params.bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_pool_location(p, props.allocType, props.location)) return error;
  if (props.handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  if (params.accessDescCount == 0) return CUDA_SUCCESS;
  if (params.accessDescs == nullptr ||
      params.accessDescCount > static_cast<std::size_t>(p.device_count()))
    return CUDA_ERROR_INVALID_VALUE;
  return check_access(p, {params.accessDescs, params.accessDescCount});
}

// Looks up the graph and dependencies, then adds the node that make(process, graph, dependencies,
// node) creates.
template <class Make>
CUresult add_memory_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                         size_t count, Make make) {
  return with_graphs_outside_host_functions([&](model::process& p) {
    model::graph* target_graph = nullptr;
    std::vector<model::graph_node*> predecessors;
    CUresult status =
        find_graph_and_dependencies(node, graph, dependencies, count, target_graph, predecessors);
    if (status != CUDA_SUCCESS) return status;
    model::graph_node* created = nullptr;
    status = make(p, *target_graph, predecessors, created);
    if (status == CUDA_SUCCESS) *node = created->handle();
    return status;
  });
}

template <class Params, class Out, class Write>
CUresult get_memory_node(CUgraphNode node, Out* out, Write write) {
  return with_graphs([&](model::process&) {
    const model::graph_node* found = find_node(node);
    const Params* params = found == nullptr ? nullptr : std::get_if<Params>(&found->params);
    if (params == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    write(*params);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return add_memory_node(
      node, graph, dependencies, count,
      [&](const model::process& p, model::graph& target_graph,
          std::span<model::graph_node* const> predecessors, model::graph_node*& created) {
        if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUresult status = check_params(p, *params);
        if (status == CUDA_SUCCESS)
          status =
              model::graph_memory::add_allocation(target_graph, *params, predecessors, created);
        if (status == CUDA_SUCCESS)
          params->dptr = std::get<model::alloc_params>(created->params).desc.dptr;
        return status;
      });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr address) {
  return add_memory_node(
      node, graph, dependencies, count,
      [&](const model::process&, model::graph& target_graph,
          std::span<model::graph_node* const> predecessors, model::graph_node*& created) {
        return model::graph_memory::add_free(target_graph, address, predecessors, created);
      });
}

// The array of access descriptors in `params` belongs to the driver and stays valid while the node
// exists.
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return get_memory_node<model::alloc_params>(node, params, [&](const model::alloc_params& p) {
    *params = p.desc;
    params->accessDescs = p.access.empty() ? nullptr : p.access.data();
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  return get_memory_node<model::free_params>(
      node, address, [&](const model::free_params& p) { *address = p.block->address(); });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  return with_device(device, [&](model::device& owner_device) {
    std::size_t result = 0;
    if (value == nullptr || !model::graph_memory::get(owner_device, attribute, result))
      return CUDA_ERROR_INVALID_VALUE;
    const cuuint64_t bytes = result;
    std::memcpy(value, &bytes, sizeof bytes);
    return CUDA_SUCCESS;
  });
}

// Only high-water marks can be set, and only to zero, which resets them to the current value.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  return with_device(device, [&](model::device& owner_device) {
    cuuint64_t requested = 1;
    if (value != nullptr) std::memcpy(&requested, value, sizeof requested);
    return requested == 0 && model::graph_memory::reset(owner_device, attribute)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return with_device(device, [](model::device& owner_device) {
    model::graph_memory::trim(owner_device);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
