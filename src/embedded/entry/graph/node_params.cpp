// entry/node_params.cpp - what the driver checks of a node's parameters.
#include "embedded/entry/graph/node_params.hpp"
#include "embedded/model/memory/address_map.hpp"

#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/kernel_work.hpp"
#include "embedded/model/graph/node_reach.hpp"
#include "embedded/model/graph/node_work.hpp"
#include "embedded/model/stream/value_work.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weir::embedded::entry {

namespace {

// The context that a copy or set is for. A host function has none.
CUresult take_context(CUcontext& context) {
  if (model::this_thread().in_host_function) return CUDA_ERROR_INVALID_VALUE;
  if (context == nullptr) {
    const model::context* current = model::this_thread().current();
    if (current == nullptr) return CUDA_ERROR_INVALID_VALUE;
    context = current->handle();
  }
  return model::this_process().contexts.find(context) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// A set that names no context is for that of its memory, so that it needs none to be current; a pool's and a graph's memory
// have none.
CUresult take_context_of(CUdeviceptr memory, CUcontext& context) {
  if (context != nullptr) {
    context = model::context_for_set(memory, context);
    return take_context(context);
  }
  const model::allocation* in = model::address_map::find(memory);
  if (in == nullptr) in = model::address_map::find_of_graph(memory, 1);
  if (in == nullptr) return take_context(context);
  if (in->owner == nullptr) return CUDA_ERROR_INVALID_VALUE;
  context = in->owner->handle();
  return take_context(context);
}

// How many bytes of the union a kind of node uses.
std::size_t used_bytes(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return sizeof(CUDA_KERNEL_NODE_PARAMS_v3);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return sizeof(CUDA_MEMCPY_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_MEMSET: return sizeof(CUDA_MEMSET_NODE_PARAMS_v2);
    case CU_GRAPH_NODE_TYPE_HOST: return sizeof(CUDA_HOST_NODE_PARAMS_v2);
    case CU_GRAPH_NODE_TYPE_GRAPH: return sizeof(CUDA_CHILD_GRAPH_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_EMPTY: return 0;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return sizeof(CUDA_EVENT_WAIT_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return sizeof(CUDA_EVENT_RECORD_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return sizeof(CUDA_MEM_FREE_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return sizeof(CUDA_CONDITIONAL_NODE_PARAMS);
    default: return sizeof(CUgraphNodeParams::reserved1);
  }
}

}  // namespace

CUresult take(const CUDA_HOST_NODE_PARAMS* given, model::node_params& out) {
  if (given == nullptr || given->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = *given;
  return CUDA_SUCCESS;
}

CUresult take(const CUDA_MEMSET_NODE_PARAMS* given, CUcontext context, model::node_params& out) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = take_context_of(given->dst, context); status != CUDA_SUCCESS) return status;
  model::set_work unused;
  const model::memory_user by = model::user_for(context, false);
  if (const CUresult status = model::to_work(*given, unused, by); status != CUDA_SUCCESS) return status;
  out = model::set_params{*given, context};
  return CUDA_SUCCESS;
}

CUresult take(const CUDA_MEMCPY3D* given, CUcontext context, model::node_params& out) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = take_context(context); status != CUDA_SUCCESS) return status;
  model::pitched_copy_work unused;
  const model::memory_user by = model::user_for(context, true);
  if (const CUresult status = model::to_work(*given, unused, by); status != CUDA_SUCCESS) return status;
  out = model::copy_params{*given, context};
  return CUDA_SUCCESS;
}

CUresult take(const CUDA_BATCH_MEM_OP_NODE_PARAMS* given, model::node_params& out) {
  if (given == nullptr || given->flags != 0 || given->count > model::most_operations_in_a_batch)
    return CUDA_ERROR_INVALID_VALUE;
  if (model::this_process().contexts.find(given->ctx) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (given->count != 0 && given->paramArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::span operations{given->paramArray, given->count};
  if (const CUresult status = model::check_operations(operations); status != CUDA_SUCCESS) return status;
  out = model::value_params{given->ctx, {operations.begin(), operations.end()}};
  return CUDA_SUCCESS;
}

CUresult take(const CUDA_KERNEL_NODE_PARAMS* given, model::node_params& out) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // A launch takes a kernel's handle where a function's is asked for, and a node does not.
  model::process& p = model::this_process();
  if (given->func != nullptr && p.functions.find(given->func) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUfunction function = given->func != nullptr ? given->func : reinterpret_cast<CUfunction>(given->kern);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  model::context* const in = given->ctx == nullptr ? nullptr : p.contexts.find(given->ctx);
  model::function* of = nullptr;
  if (const CUresult status = model::find_function(function, in, of); status != CUDA_SUCCESS) return status;
  const std::shared_ptr<const model::module_image> image = of->image();
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  model::launch_shape shape{{given->gridDimX, given->gridDimY, given->gridDimZ},
                            {given->blockDimX, given->blockDimY, given->blockDimZ},
                            {0, 0, 0},
                            given->sharedMemBytes,
                            false};
  if (const CUresult status = model::check_shape(*of, shape); status != CUDA_SUCCESS) return status;
  model::kernel_arguments arguments;
  const CUresult status = model::kernel_arguments::read(of->kernel(), given->kernelParams, given->extra, arguments);
  if (status != CUDA_SUCCESS) return status;
  out = model::kernel_params{
      std::make_shared<const model::kernel_work>(of->owner(), of->kernel(), image, shape, arguments),
      static_cast<CUfunction>(p.functions.handle_of(of)),
      given->kern,
      of->owner().handle(),
      {}};
  return CUDA_SUCCESS;
}

CUresult take_record(CUevent event, model::node_params& out) {
  if (model::this_process().events.find(event) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = model::record_params{event};
  return CUDA_SUCCESS;
}

CUresult take_wait(CUevent event, model::node_params& out) {
  if (model::this_process().events.find(event) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = model::wait_params{event};
  return CUDA_SUCCESS;
}

CUresult take(const CUgraphNodeParams* given, model::node_params& out) {
  if (given == nullptr || !unused_bytes_are_zero(*given)) return CUDA_ERROR_INVALID_VALUE;
  switch (given->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY: out = model::empty_params{}; return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST: return take(&given->host, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& p = given->memset;
      const CUDA_MEMSET_NODE_PARAMS what{p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
      return take(&what, p.ctx, out);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (given->memcpy.flags != 0) return CUDA_ERROR_INVALID_VALUE;
      return take(&given->memcpy.copyParams, given->memcpy.copyCtx, out);
    case CU_GRAPH_NODE_TYPE_KERNEL: return take(&given->kernel, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return take(&given->memOp, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return take_record(given->eventRecord.event, out);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return take_wait(given->eventWait.event, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

bool unused_bytes_are_zero(const CUgraphNodeParams& given) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(given.reserved1);
  const auto zero = [](std::byte b) { return b == std::byte{0}; };
  return std::ranges::all_of(given.reserved0, [](int r) { return r == 0; }) && given.reserved2 == 0 &&
         std::all_of(bytes + used_bytes(given.type), bytes + sizeof given.reserved1, zero);
}

}  // namespace weir::embedded::entry
