// SPDX-License-Identifier: Apache-2.0
// embedded/entry/legacy_api.cpp - older versions of functions, which existing programs still call.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

// This version has no status argument. If the symbol is not found, it returns CUDA_ERROR_NOT_FOUND
// and leaves `*found` unchanged.
CUresult cuGetProcAddress(const char* symbol, void** found, int version, cuuint64_t flags) {
  void* address = nullptr;
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = cuGetProcAddress_v2(symbol, &address, version, flags, nullptr))
    return error;
  if (address == nullptr) return CUDA_ERROR_NOT_FOUND;
  *found = address;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult status =
      cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (status != CUDA_SUCCESS) return status;
  return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  return with_device(device, [&](const model::device& found) {
    if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto attribute = [&](CUdevice_attribute attribute_id) {
      return found.attribute(attribute_id);
    };
    *properties = {
        .maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                        attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }

CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int affinities,
                        unsigned flags, CUdevice device) {
  CUctxCreateParams params{affinity, affinities, nullptr};
  return cuCtxCreate_v4(context, &params, flags, device);
}

// Reports all multiprocessors of the device, because a context that is not green cannot be
// restricted to some of them. Refuses green contexts, as a GPU's driver does, although they have a
// part of the multiprocessors.
CUresult cuCtxGetExecAffinity(CUexecAffinityParam* affinity, CUexecAffinityType type) {
  return guarded_outside_host_functions([&] {
    if (affinity == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    if (context->green()) return CUDA_ERROR_INVALID_CONTEXT;
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    const int processors = context->owner().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    affinity->type = type;
    affinity->param.smCount.val = static_cast<unsigned>(processors);
    return CUDA_SUCCESS;
  });
}

// Always reports banks of four bytes, which recent devices use.
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return guarded_outside_host_functions(with_current_context(
      [&](model::context&) { return store(config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE); }));
}

// Only checks its argument, because the size of banks cannot be changed.
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return guarded_in_context_outside_captures([&](model::context&) {
    return config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                               : CUDA_ERROR_INVALID_VALUE;
  });
}

// This version returns no edge data. Returns CUDA_ERROR_LOSSY_QUERY if an edge has data.
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

// This version returns no edge data. Returns CUDA_ERROR_LOSSY_QUERY if an edge has data.
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* dependencies, size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, dependencies, nullptr, count);
}

// This version returns no edge data. Returns CUDA_ERROR_LOSSY_QUERY if an edge has data.
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, nodes, nullptr, count);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* params) {
  return cuGraphAddNode_v2(node, graph, dependencies, nullptr, count, params);
}

// The embedded driver keeps no lines persistent in a cache, so there is nothing to reset.
CUresult cuCtxResetPersistingL2Cache() {
  return guarded_outside_host_functions(
      with_current_context([](model::context&) { return CUDA_SUCCESS; }));
}

}  // namespace weir::embedded::entry
