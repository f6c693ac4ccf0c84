// entry/graph_memory.cpp - cuGraph*MemAllocNode, cuGraph*MemFreeNode, cuDevice*GraphMem*: memory
// that graphs allocate.
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/entry/graph/graph_handle.hpp"

#include <cstring>
#include <span>

namespace weir::embedded::entry {

namespace {

template <class Body>
CUresult with_device(CUdevice ordinal, Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::device* found = p.find_device(ordinal);
    return found != nullptr ? body(*found) : CUDA_ERROR_INVALID_DEVICE;
  });
}

// Who else than the device may use the memory: devices and the host, to read and write it.
CUresult check_access(const model::process& p, std::span<const CUmemAccessDesc> wanted) {
  for (const CUmemAccessDesc& each : wanted) {
    if (each.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
      if (p.find_device(each.location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    } else if (each.location.type != CU_MEM_LOCATION_TYPE_HOST) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (each.flags == CU_MEM_ACCESS_FLAGS_PROT_READ || each.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (each.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// The memory is a device's. Managed memory is taken for such, and is no other memory.
CUresult check_place(const model::process& p, CUmemAllocationType type, const CUmemLocation& at) {
  const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (!managed && type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  switch (at.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return p.find_device(at.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST: return CUDA_ERROR_NOT_SUPPORTED;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:  // the host counts as one node
      return managed || at.id == 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_NONE:
      return managed ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult check(const model::process& p, const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  const CUmemPoolProps& props = params.poolProps;
  if (params.bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = check_place(p, props.allocType, props.location);
      status != CUDA_SUCCESS)
    return status;
  if (props.handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  if (params.accessDescCount == 0) return CUDA_SUCCESS;
  if (params.accessDescs == nullptr ||
      params.accessDescCount > static_cast<std::size_t>(p.device_count()))
    return CUDA_ERROR_INVALID_VALUE;
  return check_access(p, {params.accessDescs, params.accessDescCount});
}

// Adds the node that make(process, graph, dependencies, node) makes.
template <class Make>
CUresult add_memory_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                         size_t count, Make make) {
  return with_graphs_outside_host_functions([&](model::process& p) -> CUresult {
    model::graph* into = nullptr;
    std::vector<model::graph_node*> predecessors;
    CUresult status =
        find_graph_and_dependencies(node, graph, dependencies, count, into, predecessors);
    if (status != CUDA_SUCCESS) return status;
    model::graph_node* made = nullptr;
    status = make(p, *into, predecessors, made);
    if (status == CUDA_SUCCESS) *node = made->handle();
    return status;
  });
}

template <class Params, class Out, class Write>
CUresult get_memory_node(CUgraphNode node, Out* out, Write write) {
  return with_graphs([&](model::process&) -> CUresult {
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
      [&](const model::process& p, model::graph& into,
          std::span<model::graph_node* const> predecessors, model::graph_node*& made) -> CUresult {
        if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
        CUresult status = check(p, *params);
        if (status == CUDA_SUCCESS)
          status = model::graph_memory::add_allocation(into, *params, predecessors, made);
        if (status == CUDA_SUCCESS)
          params->dptr = std::get<model::alloc_params>(made->params).desc.dptr;
        return status;
      });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr address) {
  return add_memory_node(
      node, graph, dependencies, count,
      [&](const model::process&, model::graph& into,
          std::span<model::graph_node* const> predecessors, model::graph_node*& made) {
        return model::graph_memory::add_free(into, address, predecessors, made);
      });
}

// The access descriptors stay the driver's own.
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
  return with_device(device, [&](model::device& of) {
    std::size_t result = 0;
    if (value == nullptr || !model::graph_memory::get(of, attribute, result))
      return CUDA_ERROR_INVALID_VALUE;
    const cuuint64_t bytes = result;
    std::memcpy(value, &bytes, sizeof bytes);
    return CUDA_SUCCESS;
  });
}

// The high marks can be set, to zero: then they begin anew.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  return with_device(device, [&](model::device& of) {
    cuuint64_t wanted = 1;
    if (value != nullptr) std::memcpy(&wanted, value, sizeof wanted);
    return wanted == 0 && model::graph_memory::reset(of, attribute) ? CUDA_SUCCESS
                                                                    : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return with_device(device, [](model::device& of) {
    model::graph_memory::trim(of);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
