// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/node_settings.cpp - cuGraph*NodeGetParams and SetParams: the parameters of
// existing nodes.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/graph/node_params.hpp"
#include "embedded/model/kernel/kernel_work.hpp"
#include "embedded/model/memory/address_map.hpp"

#include <utility>

namespace weir::embedded::entry {

namespace {

// Replaces the parameters of a node by others of its kind. A kernel node keeps its launch
// attributes, because the calls that set parameters pass none. Returns an error if the attributes
// do not fit the new function.
CUresult replace_params(model::graph_node& node, model::node_params params) {
  if (auto* const kernel = std::get_if<model::kernel_params>(&params)) {
    const auto& old = std::get<model::kernel_params>(node.params);
    if (const CUresult error = kernel->copy_attributes(old)) return error;
  }
  node.params = std::move(params);
  return CUDA_SUCCESS;
}

// Replaces the parameters of a node of the kind `Params` by those that read(old, new) reads.
template <class Params, class Read>
CUresult set_params_from(CUgraphNode node, Read read) {
  return with_graphs([&] {
    const Params* const old = find_params<Params>(node);
    if (old == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::node_params params;
    if (const CUresult error = read(*old, params)) return error;
    return replace_params(*find_node(node), std::move(params));
  });
}

// Like set_params_from(), for parameters that do not depend on the old ones: read_params(input,
// new) reads them.
template <class Params, class Input>
CUresult set_params(CUgraphNode node, const Input& input) {
  return set_params_from<Params>(
      node, [&](const Params&, model::node_params& params) { return read_params(input, params); });
}

// Replaces and destroys the child graph of a node. Checks the new child graph like check_child(),
// but also allows a copy of the graph that contains the node. Returns an error if the old child
// graph has memory nodes or is being captured.
CUresult set_child(model::graph_node& node, const CUgraphNodeParams& params) {
  if (!unused_bytes_are_zero(params)) return CUDA_ERROR_INVALID_VALUE;
  const CUgraphChildGraphNodeOwnership ownership = params.graph.ownership;
  model::graph* const child = find_graph(params.graph.graph);
  if (child == node.owner && ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    if (child->is_noncopyable()) return CUDA_ERROR_NOT_SUPPORTED;
  } else if (const CUresult error = check_child(child, *node.owner, ownership))
    return error;
  const model::graph& old = *node.subgraphs().front();
  if (old.has_capture_inside()) return CUDA_ERROR_ILLEGAL_STATE;
  if (old.has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
  node.set_child_graph(ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE ? *child : child->clone());
  return CUDA_SUCCESS;
}

// Returns true if there is no context for a copy or memset of this memory, in calls that take no
// context argument. This is so if no context is current and the memory belongs to a pool, and
// therefore to no context.
bool has_no_context(CUdeviceptr address) {
  if (model::this_thread().current() != nullptr) return false;
  const model::allocation* found = model::address_map::find(address);
  return found != nullptr && found->pool != nullptr;
}

bool has_no_context(const CUDA_MEMCPY3D& copy) {
  const auto side_has_none = [](CUmemorytype type, CUdeviceptr address) {
    return (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) &&
           has_no_context(address);
  };
  return side_has_none(copy.srcMemoryType, copy.srcDevice) ||
         side_has_none(copy.dstMemoryType, copy.dstDevice);
}

}  // namespace

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  return get_params<CUDA_HOST_NODE_PARAMS>(node, params, std::identity{});
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return set_params<CUDA_HOST_NODE_PARAMS>(node, params);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  return get_params<model::memset_params>(node, params, &model::memset_params::desc);
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  return set_params_from<model::memset_params>(node, [&](const model::memset_params& old,
                                                         model::node_params& out) {
    return params != nullptr && has_no_context(params->dst) ? CUDA_ERROR_INVALID_VALUE
                                                            : read_params(params, old.context, out);
  });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  return get_params<model::copy_params>(node, params, &model::copy_params::desc);
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  return set_params_from<model::copy_params>(
      node, [&](const model::copy_params& old, model::node_params& out) {
        if (const CUresult error = read_params(params, old.context, out)) return error;
        // Unlike a memset, such a copy is accepted, but executables cannot change it.
        std::get<model::copy_params>(out).fixed = has_no_context(*params);
        return CUDA_SUCCESS;
      });
}

// The array of argument pointers in `params` belongs to the driver and stays valid while the node
// keeps these parameters.
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  return get_params<model::kernel_params>(
      node, params, [](const model::kernel_params& p) -> CUDA_KERNEL_NODE_PARAMS {
        const model::launch_shape& shape = p.desc->shape();
        return {p.function,    shape.grid.x,  shape.grid.y,
                shape.grid.z,  shape.block.x, shape.block.y,
                shape.block.z, shape.shared,  const_cast<void**>(p.desc->arguments()),
                nullptr,       p.kernel,      p.context};
      });
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return set_params<model::kernel_params>(node, params);
}

// The array of operations in `params` belongs to the driver and stays valid while the node keeps
// these parameters.
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return get_params<model::value_params>(
      node, params, [](model::value_params& p) -> CUDA_BATCH_MEM_OP_NODE_PARAMS {
        return {p.context, static_cast<unsigned>(p.operations.size()), p.operations.data(), 0};
      });
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return set_params<model::value_params>(node, params);
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return get_params<model::record_params>(node, event, &model::record_params::event);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_params<model::record_params>(node, model::record_params{event});
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return get_params<model::wait_params>(node, event, &model::wait_params::event);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_params<model::wait_params>(node, model::wait_params{event});
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return get_params<model::child_params>(
      node, graph, [](const model::child_params& p) { return p.subgraph->handle(); });
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return with_graphs([&] {
    model::graph_node* found = find_node(node);
    if (found == nullptr || params == nullptr || params->type != found->type())
      return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) return set_child(*found, *params);
    model::node_params new_params;
    if (const CUresult error = read_params(params, new_params)) return error;
    return replace_params(*found, std::move(new_params));
  });
}

}  // namespace weir::embedded::entry
