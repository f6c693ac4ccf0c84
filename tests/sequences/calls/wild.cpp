// SPDX-License-Identifier: Apache-2.0
// sequences/calls/wild.cpp - calls that only a driver that checks every handle survives: destroyed
// objects, objects of another type, unfinished captures, reset contexts, null structures.
#include "sequences/actions.hpp"
#include "sequences/block_contents.hpp"
#include "sequences/graphs.hpp"

#include <atomic>

namespace weir::sequences {
namespace {

void begin_capture(world& w) {
  const chosen_stream s = any_stream(w);
  const auto mode = static_cast<CUstreamCaptureMode>(w.d.below(4));
  w.text.call(w.driver().cuStreamBeginCapture_v2(s.handle, mode),
              fmt::format("cuStreamBeginCapture({})", s.name));
}

CUgraph any_graph_handle(world& w) {
  if (w.graphs.empty() || w.d.one_in(8)) return reinterpret_cast<CUgraph>(any_stream(w).handle);
  return w.graphs[w.d.below(static_cast<unsigned>(w.graphs.size()))].handle;
}

CUgraphExec any_exec_handle(world& w) {
  if (w.execs.empty() || w.d.one_in(8)) return reinterpret_cast<CUgraphExec>(any_event(w).handle);
  return w.execs[w.d.below(static_cast<unsigned>(w.execs.size()))].handle;
}

CUgraphNode any_node(world& w) {
  for (const graph_object& one : w.graphs) {
    if (!one.nodes.empty() && w.d.below(2) == 0)
      return one.nodes[w.d.below(static_cast<unsigned>(one.nodes.size()))];
  }
  return reinterpret_cast<CUgraphNode>(std::uintptr_t{w.d.below(3)} * 8);
}

void begin_capture_to_graph(world& w) {
  const chosen_stream s = any_stream(w);
  const CUgraphNode node = any_node(w);
  const CUresult r = w.driver().cuStreamBeginCaptureToGraph(
      s.handle, any_graph_handle(w), w.d.one_in(8) ? nullptr : &node, nullptr, w.d.below(2),
      static_cast<CUstreamCaptureMode>(w.d.below(4)));
  w.text.call(r, fmt::format("cuStreamBeginCaptureToGraph({})", s.name));
}

void end_capture(world& w) {
  const chosen_stream s = any_stream(w);
  CUgraph graph = nullptr;
  const CUresult r = w.driver().cuStreamEndCapture(s.handle, w.d.one_in(8) ? nullptr : &graph);
  w.text.call(r, fmt::format("cuStreamEndCapture({})", s.name),
              r == CUDA_SUCCESS && graph != nullptr ? add_graph(w, {.handle = graph}) : "");
}

void update_dependencies(world& w) {
  const chosen_stream s = any_stream(w);
  CUgraphNode node = any_node(w);
  const CUresult r = w.driver().cuStreamUpdateCaptureDependencies_v2(
      s.handle, w.d.one_in(8) ? nullptr : &node, nullptr, w.d.below(2), w.d.below(3));
  w.text.call(r, fmt::format("cuStreamUpdateCaptureDependencies({})", s.name));
}

// An open capture returns its graph, which the capture still owns.
void graph_of_capture(world& w) {
  const chosen_stream s = any_stream(w);
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  const CUresult r = w.driver().cuStreamGetCaptureInfo_v3(
      s.handle, nullptr, nullptr, &graph, &nodes, w.d.below(2) == 0 ? nullptr : &edges, &count);
  w.text.call(r, fmt::format("cuStreamGetCaptureInfo_v3({})", s.name));
  if (r == CUDA_SUCCESS && graph != nullptr) w.text.note(shape_of(w, graph));
}

void edges(world& w) {
  const CUgraphNode from = any_node(w), to = any_node(w);
  const bool add = w.d.below(2) == 0;
  const auto call =
      add ? w.driver().cuGraphAddDependencies_v2 : w.driver().cuGraphRemoveDependencies_v2;
  const CUresult r =
      call(any_graph_handle(w), w.d.one_in(16) ? nullptr : &from, &to, nullptr, w.d.below(2));
  w.text.call(r, add ? "cuGraphAddDependencies" : "cuGraphRemoveDependencies");
}

void node_calls(world& w) {
  const CUgraphNode node = any_node(w);
  const driver_table& d = w.driver();
  CUgraphNodeType type{};
  CUgraphNode nodes[2] = {};
  std::size_t count = w.d.below(3);
  unsigned enabled = 0;
  CUevent event = nullptr;
  CUgraph graph = nullptr;
  CUDA_MEMCPY3D copy;
  CUDA_MEMSET_NODE_PARAMS set;
  CUDA_HOST_NODE_PARAMS host;
  switch (w.d.below(12)) {
    case 0: return w.text.call(d.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType");
    case 1: return w.text.call(d.cuGraphDestroyNode(node), "cuGraphDestroyNode");
    case 2:
      return w.text.call(d.cuGraphNodeGetDependencies_v2(node, nodes, nullptr, &count),
                         "cuGraphNodeGetDependencies");
    case 3:
      return w.text.call(d.cuGraphNodeGetDependentNodes_v2(node, nullptr, nullptr, &count),
                         "cuGraphNodeGetDependentNodes");
    case 4:
      return w.text.call(d.cuGraphNodeGetEnabled(any_exec_handle(w), node, &enabled),
                         "cuGraphNodeGetEnabled");
    case 5:
      return w.text.call(d.cuGraphNodeSetEnabled(any_exec_handle(w), node, w.d.below(3)),
                         "cuGraphNodeSetEnabled");
    case 6:
      return w.text.call(d.cuGraphNodeFindInClone(nodes, node, any_graph_handle(w)),
                         "cuGraphNodeFindInClone");
    case 7:
      return w.text.call(d.cuGraphEventRecordNodeGetEvent(node, &event),
                         "cuGraphEventRecordNodeGetEvent");
    case 8:
      return w.text.call(d.cuGraphChildGraphNodeGetGraph(node, &graph),
                         "cuGraphChildGraphNodeGetGraph");
    case 9:
      return w.text.call(d.cuGraphMemcpyNodeGetParams(node, &copy), "cuGraphMemcpyNodeGetParams");
    case 10:
      return w.text.call(d.cuGraphMemsetNodeGetParams(node, &set), "cuGraphMemsetNodeGetParams");
    default:
      return w.text.call(d.cuGraphHostNodeGetParams(node, &host), "cuGraphHostNodeGetParams");
  }
}

void child(world& w) {
  CUgraphNode made = nullptr;
  w.text.call(w.driver().cuGraphAddChildGraphNode(&made, any_graph_handle(w), nullptr, 0,
                                                  any_graph_handle(w)),
              "cuGraphAddChildGraphNode");
}

// Uses any graph, also while its nodes are in flight.
void graph_calls(world& w) {
  const driver_table& d = w.driver();
  CUgraphExecUpdateResultInfo info;
  CUgraphExec exec = nullptr;
  std::size_t count = w.d.below(4);
  CUgraphNode nodes[4];
  switch (w.d.below(6)) {
    case 0: return w.text.call(d.cuGraphDestroy(any_graph_handle(w)), "cuGraphDestroy");
    case 1: return w.text.call(d.cuGraphExecDestroy(any_exec_handle(w)), "cuGraphExecDestroy");
    case 2:
      return w.text.call(d.cuGraphExecUpdate_v2(any_exec_handle(w), any_graph_handle(w),
                                                w.d.one_in(8) ? nullptr : &info),
                         "cuGraphExecUpdate");
    case 3:
      return w.text.call(d.cuGraphLaunch(any_exec_handle(w), any_stream(w).handle),
                         "cuGraphLaunch");
    case 4:
      return w.text.call(d.cuGraphGetRootNodes(any_graph_handle(w), nodes, &count),
                         "cuGraphGetRootNodes");
    default: {
      const CUresult r = d.cuGraphInstantiateWithFlags(&exec, any_graph_handle(w), w.d.below(16));
      if (r == CUDA_SUCCESS)
        w.execs.push_back({.handle = exec, .name = fmt::format("x{}", w.execs.size())});
      return w.text.call(r, "cuGraphInstantiateWithFlags");
    }
  }
}

void nothing(world& w) {
  const driver_table& d = w.driver();
  const chosen_stream s = any_stream(w);
  switch (w.d.below(10)) {
    case 0: return w.text.call(d.cuMemcpy2D_v2(nullptr), "cuMemcpy2D(null)");
    case 1: return w.text.call(d.cuMemcpy3DAsync_v2(nullptr, s.handle), "cuMemcpy3DAsync(null)");
    case 2: return w.text.call(d.cuMemcpy3DPeer(nullptr), "cuMemcpy3DPeer(null)");
    case 3:
      return w.text.call(d.cuStreamGetAttribute(s.handle, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr),
                         "cuStreamGetAttribute(null)");
    case 4:
      return w.text.call(d.cuStreamSetAttribute(s.handle, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr),
                         "cuStreamSetAttribute(null)");
    case 5:
      return w.text.call(d.cuStreamBatchMemOp_v2(s.handle, 2, nullptr, 0),
                         "cuStreamBatchMemOp(null)");
    case 6:
      return w.text.call(d.cuThreadExchangeStreamCaptureMode(nullptr),
                         "cuThreadExchangeStreamCaptureMode(null)");
    case 7:
      return w.text.call(
          d.cuMemcpyBatchAsync_v2(nullptr, nullptr, nullptr, 1, nullptr, nullptr, 1, s.handle),
          "cuMemcpyBatchAsync(null)");
    case 8: return w.text.call(d.cuMemPoolCreate(nullptr, nullptr), "cuMemPoolCreate(null)");
    default:
      return w.text.call(
          d.cuStreamGetCaptureInfo_v2(s.handle, nullptr, nullptr, nullptr, nullptr, nullptr),
          "cuStreamGetCaptureInfo(null)");
  }
}

// Creates a context, and destroys it at once or with objects in it.
void other_context(world& w) {
  const driver_table& d = w.driver();
  CUcontext made = nullptr;
  const CUresult r = d.cuCtxCreate_v2(&made, w.d.below(16), w.p.device);
  w.text.call(r, "cuCtxCreate");
  if (r != CUDA_SUCCESS) return;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  (void)d.cuStreamCreate(&stream, 1);
  (void)d.cuEventCreate(&event, 0);
  (void)d.cuEventRecord(event, stream);
  (void)d.cuStreamWaitEvent(made_stream(w).handle, event, 0);
  if (w.d.below(2) == 0) (void)d.cuStreamDestroy_v2(stream);
  w.text.call(d.cuCtxDestroy_v2(made), "cuCtxDestroy(it)");
  w.text.call(d.cuEventQuery(event), "cuEventQuery(of it)");
  if (w.d.below(2) == 0) w.text.call(d.cuCtxDestroy_v2(made), "cuCtxDestroy(it again)");
  if (w.d.below(2) == 0) w.text.call(d.cuCtxPushCurrent_v2(made), "cuCtxPushCurrent(it)");
}

// Resets the primary context: all its objects are destroyed, and it comes back under an equal
// handle. The host must not access its memory afterwards, so the sequence drops all blocks.
void reset(world& w) {
  if (!sync_all(w)) return;
  for (exec_object& one : w.execs)
    (void)w.driver().cuGraphExecDestroy(one.handle), one.live = false;
  for (graph_object& one : w.graphs) (void)w.driver().cuGraphDestroy(one.handle), one.live = false;
  for (block& one : w.blocks) {
    if (one.live) release_block(w, one);
  }
  const driver_table& d = w.driver();
  CUcontext context = nullptr;
  const bool whole = w.d.below(2) == 0;
  w.text.call(
      whole ? d.cuDevicePrimaryCtxReset_v2(w.p.device) : d.cuDevicePrimaryCtxRelease_v2(w.p.device),
      whole ? "cuDevicePrimaryCtxReset" : "cuDevicePrimaryCtxRelease");
  if (w.d.below(2) == 0) w.text.call(d.cuCtxSynchronize(), "cuCtxSynchronize()");
  w.text.call(d.cuDevicePrimaryCtxRetain(&context, w.p.device), "cuDevicePrimaryCtxRetain");
  if (!whole) return;
  (void)d.cuDevicePrimaryCtxRelease_v2(w.p.device);
  (void)d.cuDevicePrimaryCtxRetain(&context, w.p.device);
}

void user_objects(world& w) {
  const driver_table& d = w.driver();
  CUuserObject object = nullptr;
  static std::atomic<int> destroyed{0};
  const auto destroy = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  const CUresult r = d.cuUserObjectCreate(&object, &destroyed, destroy, w.d.below(3), w.d.below(2));
  w.text.call(r, "cuUserObjectCreate");
  if (r != CUDA_SUCCESS) return;
  w.text.call(d.cuGraphRetainUserObject(any_graph_handle(w), object, w.d.below(3), w.d.below(3)),
              "cuGraphRetainUserObject");
  for (unsigned i = w.d.below(3); i < 3; ++i)
    w.text.call(d.cuUserObjectRelease(object, 1), "cuUserObjectRelease");
}

}  // namespace

std::span<const action> wild_actions() {
  static constexpr action all[] = {
      {6, begin_capture},    {2, begin_capture_to_graph},
      {6, end_capture},      {2, update_dependencies},
      {2, graph_of_capture}, {3, edges},
      {6, node_calls},       {2, child},
      {6, graph_calls},      {3, nothing},
      {1, other_context},    {1, reset},
      {2, user_objects},
  };
  return all;
}

}  // namespace weir::sequences
