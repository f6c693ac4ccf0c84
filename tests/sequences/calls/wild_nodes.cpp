// SPDX-License-Identifier: Apache-2.0
// sequences/calls/wild_nodes.cpp - parameters of nodes, and green contexts, with arbitrary
// arguments, for a fuzzer.
#include "sequences/actions.hpp"
#include "sequences/graphs.hpp"

#include <algorithm>
#include <cstring>

namespace weir::sequences {
namespace {

graph_object* some_graph(world& w) {
  return w.graphs.empty() ? nullptr : &w.graphs[w.d.below(static_cast<unsigned>(w.graphs.size()))];
}

CUgraphExec some_exec(world& w) {
  return w.execs.empty() ? nullptr
                         : w.execs[w.d.below(static_cast<unsigned>(w.execs.size()))].handle;
}

// Returns a node of any graph, also of a destroyed one, including nodes that the calls below added.
CUgraphNode some_node(world& w) {
  graph_object* const g = some_graph(w);
  if (g == nullptr || g->nodes.empty())
    return reinterpret_cast<CUgraphNode>(std::uintptr_t{w.d.below(3)} * 8);
  return g->nodes[w.d.below(static_cast<unsigned>(g->nodes.size()))];
}

// A graph may be launched at any time, so memory that its nodes use is never freed.
CUDA_MEMSET_NODE_PARAMS some_set(world& w) {
  CUDA_MEMSET_NODE_PARAMS params;
  std::memset(&params, 0, sizeof params);
  block* const in = any_block(w);
  params.dst = in != nullptr ? in->address : 0;
  params.elementSize = w.d.one_of({1u, 1u, 2u, 4u, 0u, 3u});
  params.value = w.d.one_of({0u, 7u, 0x1ffu});
  params.width = in != nullptr ? std::min<std::size_t>(in->size / 8, w.d.one_of({1u, 16u, 0u})) : 1;
  params.height = w.d.one_of({1u, 1u, 2u, 0u});
  params.pitch = w.d.one_of<std::size_t>({0, 0, params.width * params.elementSize});
  if (in != nullptr) in->in_graph = true;
  return params;
}

CUDA_MEMCPY3D some_copy(world& w) {
  CUDA_MEMCPY3D params;
  std::memset(&params, 0, sizeof params);
  block* const to = any_block(w);
  block* const from = to != nullptr ? any_block(w) : nullptr;
  params.Height = w.d.one_of({1u, 1u, 1u, 0u});
  params.Depth = w.d.one_of({1u, 1u, 1u, 0u});
  if (from == nullptr) return params;
  params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  params.srcDevice = from->address;
  params.dstDevice = to->address;
  params.WidthInBytes = std::min({to->size, from->size, std::size_t{w.d.one_of({1u, 64u, 0u})}});
  to->in_graph = from->in_graph = true;
  return params;
}

// Only writes and barriers: a wait might never end.
struct some_operations {
  explicit some_operations(world& w) {
    std::memset(ops, 0, sizeof ops);
    block* const in = any_block(w);
    for (CUstreamBatchMemOpParams& op : ops) {
      const unsigned kind = w.d.one_of({2u, 2u, 5u, 6u, 99u});
      op.operation = static_cast<CUstreamBatchMemOpType>(kind);
      if (kind == 6 || in == nullptr || in->size < 16) continue;
      op.writeValue.address = in->address + w.d.one_of({0u, 8u, 4u, 1u});
      op.writeValue.value64 = 7;
      in->in_graph = true;
    }
    params = {.ctx = any_context(w),
              .count = w.d.below(3),
              .paramArray = w.d.one_in(16) ? nullptr : ops,
              .flags = 0};
  }
  some_operations(const some_operations&) = delete;
  some_operations& operator=(const some_operations&) = delete;

  CUstreamBatchMemOpParams ops[2];
  CUDA_BATCH_MEM_OP_NODE_PARAMS params;
};

void set_params(world& w) {
  const driver_table& d = w.driver();
  const CUgraphNode node = some_node(w);
  const CUgraphExec exec = some_exec(w);
  const bool of_exec = w.d.below(2) == 0;
  switch (w.d.below(7)) {
    case 0: {
      const CUDA_MEMSET_NODE_PARAMS params = some_set(w);
      return w.text.call(of_exec
                             ? d.cuGraphExecMemsetNodeSetParams(exec, node, &params, any_context(w))
                             : d.cuGraphMemsetNodeSetParams(node, &params),
                         "MemsetNodeSetParams");
    }
    case 1: {
      const CUDA_MEMCPY3D params = some_copy(w);
      return w.text.call(of_exec
                             ? d.cuGraphExecMemcpyNodeSetParams(exec, node, &params, any_context(w))
                             : d.cuGraphMemcpyNodeSetParams(node, &params),
                         "MemcpyNodeSetParams");
    }
    case 2: {
      const CUDA_HOST_NODE_PARAMS params{.fn = &host_log::ran, .userData = w.host.make("set")};
      return w.text.call(of_exec ? d.cuGraphExecHostNodeSetParams(exec, node, &params)
                                 : d.cuGraphHostNodeSetParams(node, &params),
                         "HostNodeSetParams");
    }
    case 3: {
      const CUevent event = any_event(w).handle;
      return w.text.call(of_exec ? d.cuGraphExecEventRecordNodeSetEvent(exec, node, event)
                                 : d.cuGraphEventRecordNodeSetEvent(node, event),
                         "EventRecordNodeSetEvent");
    }
    case 4: {
      const CUevent event = any_event(w).handle;
      return w.text.call(of_exec ? d.cuGraphExecEventWaitNodeSetEvent(exec, node, event)
                                 : d.cuGraphEventWaitNodeSetEvent(node, event),
                         "EventWaitNodeSetEvent");
    }
    case 5: {
      const graph_object* const g = some_graph(w);
      return w.text.call(
          d.cuGraphExecChildGraphNodeSetParams(exec, node, g != nullptr ? g->handle : nullptr),
          "ExecChildGraphNodeSetParams");
    }
    default: {
      const some_operations some{w};
      return w.text.call(of_exec ? d.cuGraphExecBatchMemOpNodeSetParams(exec, node, &some.params)
                                 : d.cuGraphBatchMemOpNodeSetParams(node, &some.params),
                         "BatchMemOpNodeSetParams");
    }
  }
}

// The call for all types of nodes.
void any_params(world& w) {
  const driver_table& d = w.driver();
  CUgraphNodeParams params;
  std::memset(&params, 0, sizeof params);
  params.type = static_cast<CUgraphNodeType>(w.d.below(14));
  const some_operations some{w};
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: params.memcpy.copyParams = some_copy(w); break;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS set = some_set(w);
      params.memset = {set.dst,   set.pitch,  set.value,     set.elementSize,
                       set.width, set.height, any_context(w)};
      break;
    }
    case CU_GRAPH_NODE_TYPE_HOST: params.host = {&host_log::ran, w.host.make("any")}; break;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const graph_object* const g = some_graph(w);
      params.graph.graph = g != nullptr ? g->handle : nullptr;
      break;
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: params.eventWait.event = any_event(w).handle; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: params.eventRecord.event = any_event(w).handle; break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: params.memOp = some.params; break;
    default: break;
  }
  graph_object* const g = some_graph(w);
  CUgraphNode node = some_node(w);
  switch (w.d.below(3)) {
    case 0: return w.text.call(d.cuGraphNodeSetParams(node, &params), "cuGraphNodeSetParams");
    case 1:
      return w.text.call(d.cuGraphExecNodeSetParams(some_exec(w), node, &params),
                         "cuGraphExecNodeSetParams");
    default: {
      if (g == nullptr) return;
      const CUgraphNode after = g->nodes.empty() ? nullptr : g->nodes.back();
      const CUresult r =
          d.cuGraphAddNode_v2(&node, g->handle, &after, nullptr, after != nullptr, &params);
      if (r == CUDA_SUCCESS) g->nodes.push_back(node);
      return w.text.call(r, fmt::format("cuGraphAddNode({})", static_cast<unsigned>(params.type)));
    }
  }
}

void other_graph_calls(world& w) {
  const driver_table& d = w.driver();
  graph_object* const g = some_graph(w);
  const CUgraph graph = g != nullptr ? g->handle : nullptr;
  CUgraphNode node = nullptr;
  cuuint64_t flags = 0;
  CUDA_GRAPH_INSTANTIATE_PARAMS params;
  std::memset(&params, 0, sizeof params);
  CUDA_BATCH_MEM_OP_NODE_PARAMS params_read;
  CUgraphExec exec = nullptr;
  switch (w.d.below(4)) {
    case 0: {
      const some_operations some{w};
      const CUresult r = d.cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &some.params);
      if (r == CUDA_SUCCESS && g != nullptr) g->nodes.push_back(node);
      return w.text.call(r, "cuGraphAddBatchMemOpNode");
    }
    case 1:
      return w.text.call(d.cuGraphBatchMemOpNodeGetParams(some_node(w), &params_read),
                         "cuGraphBatchMemOpNodeGetParams");
    case 2: return w.text.call(d.cuGraphExecGetFlags(some_exec(w), &flags), "cuGraphExecGetFlags");
    default: {
      params.flags = w.d.one_of({0u, 1u, 2u, 4u, 8u, 10u});
      params.hUploadStream = any_stream(w).handle;
      const CUresult r =
          d.cuGraphInstantiateWithParams(&exec, graph, w.d.one_in(16) ? nullptr : &params);
      if (r == CUDA_SUCCESS)
        w.execs.push_back({.handle = exec, .name = fmt::format("x{}", w.execs.size())});
      return w.text.call(r, "cuGraphInstantiateWithParams");
    }
  }
}

// Green contexts.

CUgreenCtx some_green(world& w) {
  if (w.wilds.greens.empty() || w.d.one_in(12)) return reinterpret_cast<CUgreenCtx>(any_context(w));
  return w.wilds.greens[w.d.below(static_cast<unsigned>(w.wilds.greens.size()))];
}

void create_green(world& w) {
  if (w.wilds.greens.size() >= 4) return;
  const driver_table& d = w.driver();
  CUdevResource whole, parts[4], rest;
  std::memset(&whole, 0, sizeof whole);
  CUresult r = d.cuDeviceGetDevResource(
      w.p.device, &whole, w.d.one_in(8) ? CU_DEV_RESOURCE_TYPE_INVALID : CU_DEV_RESOURCE_TYPE_SM);
  w.text.call(r, "cuDeviceGetDevResource");
  unsigned count = w.d.below(5);
  std::memset(parts, 0, sizeof parts);
  r = d.cuDevSmResourceSplitByCount(parts, &count, &whole, w.d.below(2) == 0 ? nullptr : &rest,
                                    w.d.below(4), w.d.one_of({0u, 1u, 8u, 16u, 1000u}));
  w.text.call(r, "cuDevSmResourceSplitByCount");
  CUdevResourceDesc desc = nullptr;
  const bool all = w.d.one_in(4);
  r = d.cuDevResourceGenerateDesc(&desc, all ? &whole : parts, all ? w.d.below(2) : w.d.below(3));
  w.text.call(r, "cuDevResourceGenerateDesc");
  CUgreenCtx made = nullptr;
  r = d.cuGreenCtxCreate(&made, desc, w.p.device,
                         w.d.one_in(8) ? 0u : static_cast<unsigned>(CU_GREEN_CTX_DEFAULT_STREAM));
  w.text.call(r, "cuGreenCtxCreate");
  if (r == CUDA_SUCCESS) w.wilds.greens.push_back(made);
}

void use_green(world& w) {
  const driver_table& d = w.driver();
  CUgreenCtx green = some_green(w);
  CUcontext context = nullptr;
  CUdevResource resource;
  unsigned long long id = 0;
  switch (w.d.below(9)) {
    case 0: {
      CUstream made = nullptr;
      const CUresult r =
          d.cuGreenCtxStreamCreate(&made, green, w.d.below(3), static_cast<int>(w.d.below(3)) - 1);
      if (r == CUDA_SUCCESS && live_indices(w.streams).size() < 6)
        w.streams.push_back(
            {.handle = made, .name = fmt::format("s{}", w.streams.size()), .context = 0});
      else if (r == CUDA_SUCCESS)
        (void)d.cuStreamDestroy_v2(made);
      return w.text.call(r, "cuGreenCtxStreamCreate");
    }
    case 1: {
      const CUresult r = d.cuCtxFromGreenCtx(&context, green);
      w.text.call(r, "cuCtxFromGreenCtx");
      if (r == CUDA_SUCCESS && w.d.below(2) == 0)
        w.text.call(d.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent(it)");
      return;
    }
    case 2:
      return w.text.call(d.cuGreenCtxRecordEvent(green, any_event(w).handle),
                         "cuGreenCtxRecordEvent");
    case 3:
      return w.text.call(d.cuGreenCtxWaitEvent(green, any_event(w).handle), "cuGreenCtxWaitEvent");
    case 4:
      return w.text.call(d.cuStreamGetGreenCtx(any_stream(w).handle, &green),
                         "cuStreamGetGreenCtx");
    case 5:
      return w.text.call(d.cuGreenCtxGetDevResource(green, &resource, CU_DEV_RESOURCE_TYPE_SM),
                         "cuGreenCtxGetDevResource");
    case 6:
      return w.text.call(d.cuCtxGetDevResource(any_context(w), &resource, CU_DEV_RESOURCE_TYPE_SM),
                         "cuCtxGetDevResource");
    case 7: return w.text.call(d.cuGreenCtxGetId(green, &id), "cuGreenCtxGetId");
    default: return w.text.call(d.cuGreenCtxDestroy(green), "cuGreenCtxDestroy");
  }
}

}  // namespace

std::span<const action> wild_node_actions() {
  static constexpr action all[] = {
      {8, set_params}, {6, any_params}, {4, other_graph_calls}, {2, create_green}, {6, use_green},
  };
  return all;
}

void end_wild_nodes(world& w) {
  for (const CUgreenCtx green : w.wilds.greens) (void)w.p.driver.plain.cuGreenCtxDestroy(green);
}

}  // namespace weir::sequences
