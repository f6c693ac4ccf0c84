// entry/conditional.cpp - cuGraphConditionalHandleCreate, and the nodes that the handles are for.
#include "embedded/entry/graph/conditional.hpp"
#include "embedded/entry/graph/node_params.hpp"
#include "embedded/model/graph/conditional.hpp"

namespace weir::embedded::entry {

namespace {

// Finds the condition of a new node: one of its graph, or of any part of the whole that this is
// part of, that no other node uses.
CUresult find_condition(const CUDA_CONDITIONAL_NODE_PARAMS& params, const model::graph& of,
                        model::condition*& out) {
  out = model::condition::find(params.handle);
  if (out == nullptr || out->used_by != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (&out->of->root() != &of.root()) return CUDA_ERROR_INVALID_VALUE;
  const model::context* const in = model::this_process().contexts.find(params.ctx);
  if (in == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return in == out->in ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph,
                                        CUcontext context, unsigned initial, unsigned flags) {
  return with_graphs_outside_host_functions([&](model::process& p) -> CUresult {
    model::graph* const of = find_graph(graph);
    if (handle == nullptr || of == nullptr || (flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    const model::context* const in = p.contexts.find(context);
    if (in == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *handle =
        model::make_condition(*of, *in, initial, flags == CU_GRAPH_COND_ASSIGN_DEFAULT).handle();
    return CUDA_SUCCESS;
  });
}

CUresult add_conditional(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                         std::size_t count, CUgraphNodeParams& params) {
  return with_graphs([&](model::process&) -> CUresult {
    model::graph* into = nullptr;
    std::vector<model::graph_node*> predecessors;
    if (const CUresult status =
            find_graph_and_dependencies(node, graph, dependencies, count, into, predecessors);
        status != CUDA_SUCCESS)
      return status;
    CUDA_CONDITIONAL_NODE_PARAMS& input = params.conditional;
    if (!unused_bytes_are_zero(params) || !model::may_have_bodies(input.type, input.size))
      return CUDA_ERROR_INVALID_VALUE;
    model::condition* by = nullptr;
    if (const CUresult status = find_condition(input, *into, by); status != CUDA_SUCCESS)
      return status;
    const model::graph_node& made =
        model::add_conditional(*into, *by, input.type, input.size, predecessors);
    // The program may read the list for as long as the node is there; it is not for writing.
    input.phGraph_out =
        const_cast<CUgraph*>(std::get<model::conditional_params>(made.params).handles.data());
    *node = made.handle();
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
