// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/node_params.cpp - validates the parameters of graph nodes.
#include "embedded/entry/graph/node_params.hpp"
#include "embedded/model/memory/address_map.hpp"

#include "embedded/model/graph/node_work.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/kernel_work.hpp"
#include "embedded/model/stream/operations.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weir::embedded::entry {

namespace {

// Replaces a null context of a copy or memset by the current context. Returns
// CUDA_ERROR_INVALID_VALUE if there is none, for an invalid context, and in a host function, which
// has no current context.
CUresult resolve_context(CUcontext& context) {
  if (model::this_thread().in_host_function) return CUDA_ERROR_INVALID_VALUE;
  if (context == nullptr) {
    const model::context* current = model::this_thread().current();
    if (current == nullptr) return CUDA_ERROR_INVALID_VALUE;
    context = current->handle();
  }
  return model::this_process().contexts.find(context) == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                                 : CUDA_SUCCESS;
}

// Like resolve_context(), for a copy. If no context is current, a null context stands for the one
// that owns the memory of the destination or the source.
CUresult resolve_copy_context(const CUDA_MEMCPY3D& copy, CUcontext& context) {
  if (context != nullptr || model::this_thread().current() != nullptr)
    return resolve_context(context);
  for (const auto& [type, address] : {std::pair{copy.dstMemoryType, copy.dstDevice},
                                      std::pair{copy.srcMemoryType, copy.srcDevice}}) {
    if (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) continue;
    const model::allocation* const found = model::address_map::find(address);
    if (found == nullptr || found->owner_context == nullptr) continue;
    context = found->owner_context->handle();
    break;
  }
  return resolve_context(context);
}

// Replaces a null context of a memset by the context that owns the memory, so that no context needs
// to be current. Returns CUDA_ERROR_INVALID_VALUE for memory that no context owns, such as memory
// of a pool. Uses the current context for an unknown address. A context that is not null may be
// replaced by context_for_memset().
CUresult resolve_memset_context(CUdeviceptr address, CUcontext& context) {
  if (context != nullptr) {
    context = model::context_for_memset(address, context);
    return resolve_context(context);
  }
  const model::allocation* found = model::address_map::find(address);
  if (found == nullptr) found = model::address_map::find_graph_memory(address, 1);
  if (found == nullptr) return resolve_context(context);
  if (found->owner_context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  context = found->owner_context->handle();
  return resolve_context(context);
}

// Returns the number of bytes that a kind of node uses in the union of CUgraphNodeParams: all of
// them for a kind that weir does not support.
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

CUresult read_params(const CUDA_HOST_NODE_PARAMS* input, model::node_params& out) {
  if (input == nullptr || input->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = *input;
  return CUDA_SUCCESS;
}

CUresult read_params(const CUDA_MEMSET_NODE_PARAMS* input, CUcontext context,
                     model::node_params& out) {
  if (input == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = resolve_memset_context(input->dst, context)) return error;
  model::memset_work checked;
  const model::memory_user user = model::memory_user_of_node(context);
  if (const CUresult error = model::to_work(*input, checked, user)) return error;
  out = model::memset_params{*input, context};
  return CUDA_SUCCESS;
}

CUresult read_params(const CUDA_MEMCPY3D* input, CUcontext context, model::node_params& out) {
  if (input == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = resolve_copy_context(*input, context)) return error;
  model::pitched_copy_work checked;
  model::memory_user user = model::memory_user_of_node(context);
  user.copies = user.user_context != nullptr;  // a copy needs no peer access
  if (const CUresult error = model::to_work(*input, checked, user)) return error;
  out = model::copy_params{*input, context};
  return CUDA_SUCCESS;
}

CUresult read_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS* input, model::node_params& out) {
  if (input == nullptr || input->flags != 0 || input->count > model::max_batch_operations)
    return CUDA_ERROR_INVALID_VALUE;
  if (model::this_process().contexts.find(input->ctx) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (input->count != 0 && input->paramArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::span operations{input->paramArray, input->count};
  model::value_work checked;
  for (const CUstreamBatchMemOpParams& operation : operations) {
    if (const CUresult error =
            model::make_work(operation, checked, {model::value_address_check::node, {}}))
      return error;
  }
  out = model::value_params{input->ctx, {operations.begin(), operations.end()}};
  return CUDA_SUCCESS;
}

CUresult read_params(const CUDA_KERNEL_NODE_PARAMS* input, model::node_params& out) {
  if (input == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // A launch accepts the handle of a library kernel as a function; a node does not.
  model::process& p = model::this_process();
  if (input->func != nullptr && p.functions.find(input->func) == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  const CUfunction function =
      input->func != nullptr ? input->func : reinterpret_cast<CUfunction>(input->kern);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  model::context* const node_context =
      input->ctx == nullptr ? nullptr : p.contexts.find(input->ctx);
  model::function* kernel_function = nullptr;
  if (const CUresult error = model::find_function(function, node_context, kernel_function))
    return error;
  const std::shared_ptr<const model::module_image> image = kernel_function->image();
  if (!image) return CUDA_ERROR_INVALID_HANDLE;
  model::launch_shape shape{{input->gridDimX, input->gridDimY, input->gridDimZ},
                            {input->blockDimX, input->blockDimY, input->blockDimZ},
                            {0, 0, 0},
                            input->sharedMemBytes,
                            false};
  if (const CUresult error = model::check_shape(*kernel_function, shape)) return error;
  model::kernel_arguments arguments;
  if (const CUresult error = model::kernel_arguments::read(
          kernel_function->kernel(), input->kernelParams, input->extra, arguments))
    return error;
  out = model::kernel_params{
      std::make_shared<const model::kernel_work>(
          kernel_function->owner(), kernel_function->kernel(), image, shape, arguments),
      static_cast<CUfunction>(p.functions.handle_of(kernel_function)),
      input->kern,
      kernel_function->owner().handle(),
      {}};
  return CUDA_SUCCESS;
}

CUresult read_params(const model::record_params& input, model::node_params& out) {
  if (model::this_process().events.find(input.event) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = input;
  return CUDA_SUCCESS;
}

CUresult read_params(const model::wait_params& input, model::node_params& out) {
  if (model::this_process().events.find(input.event) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = input;
  return CUDA_SUCCESS;
}

CUresult read_params(const CUgraphNodeParams* input, model::node_params& out) {
  if (input == nullptr || !unused_bytes_are_zero(*input)) return CUDA_ERROR_INVALID_VALUE;
  switch (input->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY: out = model::empty_params{}; return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST: return read_params(&input->host, out);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& p = input->memset;
      const CUDA_MEMSET_NODE_PARAMS params{p.dst,         p.pitch, p.value,
                                           p.elementSize, p.width, p.height};
      return read_params(&params, p.ctx, out);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (input->memcpy.flags != 0) return CUDA_ERROR_INVALID_VALUE;
      return read_params(&input->memcpy.copyParams, input->memcpy.copyCtx, out);
    case CU_GRAPH_NODE_TYPE_KERNEL: return read_params(&input->kernel, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return read_params(&input->memOp, out);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return read_params(model::record_params{input->eventRecord.event}, out);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return read_params(model::wait_params{input->eventWait.event}, out);
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

bool unused_bytes_are_zero(const CUgraphNodeParams& input) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(input.reserved1);
  const auto zero = [](std::byte b) { return b == std::byte{0}; };
  return std::ranges::all_of(input.reserved0, [](int r) { return r == 0; }) &&
         input.reserved2 == 0 &&
         std::all_of(bytes + used_bytes(input.type), bytes + sizeof input.reserved1, zero);
}

}  // namespace weir::embedded::entry
