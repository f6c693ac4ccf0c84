// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_marks.cpp - what a graph no longer allows once a condition, or a node with
// memory, was made for it; and which error comes first.
#include "cases/graph/graph_update.hpp"
#include "probe/probe.hpp"

#include <cstring>
#include <string>

namespace weir::conformance {
namespace {

// Records which calls a graph with two connected empty nodes still allows.
struct Marked {
  Graph gr;
  CUgraphNode first = nullptr, second = nullptr;

  Marked() {
    OK(cuGraphAddEmptyNode(&first, gr, nullptr, 0));
    OK(cuGraphAddEmptyNode(&second, gr, &first, 1));
  }

  void rec(Rec& r, const std::string& key) {
    Graph parent;
    CUgraph copy = nullptr;
    CUgraphNode n = nullptr;
    CUgraphExec x = nullptr, again = nullptr;
    r.k(key + ".clone", cuGraphClone(&copy, gr));
    if (copy != nullptr) OK(cuGraphDestroy(copy));
    r.k(key + ".as_child", cuGraphAddChildGraphNode(&n, parent, nullptr, 0, gr));
    r.k(key + ".instantiate", cuGraphInstantiate(&x, gr, 0));
    r.k(key + ".again", cuGraphInstantiate(&again, gr, 0));
    for (CUgraphExec made : {x, again}) {
      if (made != nullptr) OK(cuGraphExecDestroy(made));
    }
    r.k(key + ".remove_edge", cuGraphRemoveDependencies(gr, &first, &second, nullptr, 1));
    r.k(key + ".remove_node", cuGraphDestroyNode(second));
  }
};

CUgraphConditionalHandle handle_for(CUgraph gr) {
  CUgraphConditionalHandle h = 0;
  OK(cuGraphConditionalHandleCreate(&h, gr, g.ctx, 0, 0));
  return h;
}

}  // namespace

void graph_marks_cases() {
  add("graph.marked_by_handle", [](Rec& r) {
    Marked m;
    handle_for(m.gr);
    m.rec(r, "handle");
  });
  add("graph.marked_by_failed_free", [](Rec& r) {
    Marked unknown, null, no_out, foreign;
    CUgraphNode n = nullptr;
    r.k("unknown", cuGraphAddMemFreeNode(&n, unknown.gr, nullptr, 0, g.dbuf));
    unknown.rec(r, "unknown");
    r.k("null", cuGraphAddMemFreeNode(&n, null.gr, nullptr, 0, 0));
    null.rec(r, "null");
    r.k("no_out", cuGraphAddMemFreeNode(nullptr, no_out.gr, nullptr, 0, g.dbuf));
    no_out.rec(r, "no_out");
    r.k("foreign", cuGraphAddMemFreeNode(&n, foreign.gr, &unknown.first, 1, g.dbuf));
    foreign.rec(r, "foreign");
  });
  add("gmem.free_after_instantiate", [](Rec& r) {
    Graph gr, other;
    CUdeviceptr p = 0;
    CUgraphNode a = add_alloc(gr, {}, 4096, &p), n = nullptr;
    { Exec x(gr); }
    r.k("own", cuGraphAddMemFreeNode(&n, gr, &a, 1, p));
    r.k("other", cuGraphAddMemFreeNode(&n, other, nullptr, 0, p));
  });
  add("graph.order_of_errors", [](Rec& r) {
    Graph gr, child;
    CUgraphNode n = nullptr;
    handle_for(child);
    r.k("child_no_graph", cuGraphAddChildGraphNode(&n, nullptr, nullptr, 0, child));
    r.k("child_no_out", cuGraphAddChildGraphNode(nullptr, gr, nullptr, 0, child));
    r.k("child_no_list", cuGraphAddChildGraphNode(&n, gr, nullptr, 1, child));
    CUDA_KERNEL_NODE_PARAMS kernel;
    std::memset(&kernel, 0, sizeof kernel);
    r.k("kernel_no_out", cuGraphAddKernelNode(nullptr, gr, nullptr, 0, &kernel));
    r.k("kernel_no_list", cuGraphAddKernelNode(&n, gr, nullptr, 1, &kernel));
    CUgraphNodeParams condition;
    std::memset(&condition, 0, sizeof condition);
    condition.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    condition.conditional.size = 1;
    r.k("condition", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &condition));
    r.k("condition_no_graph", cuGraphAddNode(&n, nullptr, nullptr, nullptr, 0, &condition));
    condition.conditional.size = 0;
    r.k("condition_size_0", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &condition));
  });
  add("graph.edge_with_order_port", [](Rec& r) {
    Graph gr;
    CUgraphNode a = nullptr, b = nullptr;
    OK(cuGraphAddEmptyNode(&a, gr, nullptr, 0));
    OK(cuGraphAddEmptyNode(&b, gr, nullptr, 0));
    CUgraphEdgeData edge;
    std::memset(&edge, 0, sizeof edge);
    edge.from_port = 2;
    r.k("between_empty_nodes", cuGraphAddDependencies(gr, &a, &b, &edge, 1));
  });
  add("graph.changes_while_captured_to", [](Rec& r) {
    Graph gr;
    CUgraphNode a = nullptr, b = nullptr;
    OK(cuGraphAddEmptyNode(&a, gr, nullptr, 0));
    OK(cuGraphAddEmptyNode(&b, gr, &a, 1));
    Stream s(NB);
    OK(cuStreamBeginCaptureToGraph(s, gr, &b, nullptr, 1, RELAXED));
    r.k("remove_edge", cuGraphRemoveDependencies(gr, &a, &b, nullptr, 1));
    r.k("remove_node", cuGraphDestroyNode(a));
    end_ok(s);
  });
}

}  // namespace weir::conformance
