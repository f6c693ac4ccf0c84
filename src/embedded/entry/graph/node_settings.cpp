// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/node_settings.cpp - cuGraph*NodeGetParams and SetParams: the parameters of
// existing nodes.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/graph/node_params.hpp"
#include "embedded/model/graph/kernel_node_check.hpp"
#include "embedded/model/kernel/kernel_work.hpp"
#include "embedded/model/memory/address_map.hpp"

#include <utility>

namespace weir::embedded::entry {

namespace {

// Calls `write` with a node's parameters if they are of this kind.
template <class Params, class Out, class Write>
CUresult get(CUgraphNode node, Out* out, Write write) {
  return with_graphs([&](model::process&) -> CUresult {
    model::graph_node* found = find_node(node);
    Params* params = found == nullptr ? nullptr : std::get_if<Params>(&found->params);
    if (params == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    write(*params);
    return CUDA_SUCCESS;
  });
}

// Replaces a node's parameters with those from read_params(old, new), which must be of the old
// kind.
template <class Params, class ReadParams>
CUresult set(CUgraphNode node, ReadParams read_params) {
  return with_graphs([&](model::process&) -> CUresult {
    model::graph_node* found = find_node(node);
    const Params* old = found == nullptr ? nullptr : std::get_if<Params>(&found->params);
    if (old == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::node_params params;
    if (const CUresult status = read_params(*old, params); status != CUDA_SUCCESS) return status;
    found->params = std::move(params);
    return CUDA_SUCCESS;
  });
}

// Setting a kernel node passes no attributes. The node keeps its old ones if they fit the new
// function.
CUresult keep_attributes(const model::kernel_params& old, model::kernel_params& taken) {
  const model::launch_shape shape = model::shape_with_attributes(*taken.desc, *old.desc);
  const CUresult status = model::check_kernel_node_shape(*taken.desc, shape);
  if (status == CUDA_SUCCESS) taken.copy_attributes_from(old);
  return status;
}

// Replaces and destroys a node's child graph, with the checks of an added child graph. A copy of
// the graph that contains the node is allowed.
CUresult set_child(model::graph_node& of, const CUgraphNodeParams& params) {
  if (!unused_bytes_are_zero(params)) return CUDA_ERROR_INVALID_VALUE;
  const CUgraphChildGraphNodeOwnership ownership = params.graph.ownership;
  model::graph* const child = find_graph(params.graph.graph);
  if (child == of.in && ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    if (child->is_noncopyable()) return CUDA_ERROR_NOT_SUPPORTED;
  } else if (const CUresult status = check_child(child, *of.in, ownership);
             status != CUDA_SUCCESS) {
    return status;
  }
  const model::graph& old = *of.subgraphs().front();
  if (old.has_capture_inside()) return CUDA_ERROR_ILLEGAL_STATE;
  if (old.has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
  of.set_child_graph(ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE ? *child : child->clone());
  return CUDA_SUCCESS;
}

// Returns true if a copy or memset has no context: these functions take none, pool memory belongs
// to none, and none is current.
bool has_no_context(CUdeviceptr memory) {
  if (model::this_thread().current() != nullptr) return false;
  const model::allocation* in = model::address_map::find(memory);
  return in != nullptr && in->pool != nullptr;
}

bool has_no_context(const CUDA_MEMCPY3D& copy) {
  const auto side = [](CUmemorytype type, CUdeviceptr at) {
    return (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) && has_no_context(at);
  };
  return side(copy.srcMemoryType, copy.srcDevice) || side(copy.dstMemoryType, copy.dstDevice);
}

}  // namespace

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  return get<CUDA_HOST_NODE_PARAMS>(node, params,
                                    [&](const CUDA_HOST_NODE_PARAMS& p) { *params = p; });
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return set<CUDA_HOST_NODE_PARAMS>(node,
                                    [&](const CUDA_HOST_NODE_PARAMS&, model::node_params& out) {
                                      return read_params(params, out);
                                    });
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  return get<model::memset_params>(node, params,
                                   [&](const model::memset_params& p) { *params = p.desc; });
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  return set<model::memset_params>(
      node, [&](const model::memset_params& old, model::node_params& out) {
        return params != nullptr && has_no_context(params->dst) ? CUDA_ERROR_INVALID_VALUE
                                                                : read_params(params, old.in, out);
      });
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  return get<model::copy_params>(node, params,
                                 [&](const model::copy_params& p) { *params = p.desc; });
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  return set<model::copy_params>(node, [&](const model::copy_params& old, model::node_params& out) {
    const CUresult status = read_params(params, old.in, out);
    if (status == CUDA_SUCCESS) std::get<model::copy_params>(out).fixed = has_no_context(*params);
    return status;
  });
}

// The driver keeps ownership of the array of argument pointers.
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  return get<model::kernel_params>(node, params, [&](const model::kernel_params& p) {
    const model::launch_shape& shape = p.desc->shape();
    *params = {p.function,    shape.grid.x,  shape.grid.y,
               shape.grid.z,  shape.block.x, shape.block.y,
               shape.block.z, shape.shared,  const_cast<void**>(p.desc->arguments()),
               nullptr,       p.kernel,      p.in};
  });
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  return set<model::kernel_params>(
      node, [&](const model::kernel_params& old, model::node_params& out) {
        if (const CUresult status = read_params(params, out); status != CUDA_SUCCESS) return status;
        return keep_attributes(old, std::get<model::kernel_params>(out));
      });
}

// The driver keeps ownership of the array.
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return get<model::value_params>(node, params, [&](model::value_params& p) {
    *params = {p.in, static_cast<unsigned>(p.operations.size()), p.operations.data(), 0};
  });
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return set<model::value_params>(node, [&](const model::value_params&, model::node_params& out) {
    return read_params(params, out);
  });
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return get<model::record_params>(node, event,
                                   [&](const model::record_params& p) { *event = p.event; });
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return set<model::record_params>(node, [&](const model::record_params&, model::node_params& out) {
    return read_record_params(event, out);
  });
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return get<model::wait_params>(node, event,
                                 [&](const model::wait_params& p) { *event = p.event; });
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return set<model::wait_params>(node, [&](const model::wait_params&, model::node_params& out) {
    return read_wait_params(event, out);
  });
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return get<model::child_params>(
      node, graph, [&](const model::child_params& p) { *graph = p.subgraph->handle(); });
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return with_graphs([&](model::process&) -> CUresult {
    model::graph_node* found = find_node(node);
    if (found == nullptr || params == nullptr || params->type != found->type())
      return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) return set_child(*found, *params);
    model::node_params taken;
    if (const CUresult status = read_params(params, taken); status != CUDA_SUCCESS) return status;
    if (auto* const kernel = std::get_if<model::kernel_params>(&taken)) {
      const CUresult status =
          keep_attributes(std::get<model::kernel_params>(found->params), *kernel);
      if (status != CUDA_SUCCESS) return status;
    }
    found->params = std::move(taken);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
