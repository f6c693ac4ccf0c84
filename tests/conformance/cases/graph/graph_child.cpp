// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_child.cpp - child graphs.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void graph_child_cases() {
  add("graph.child_is_cloned", [](Rec& r) {
    Graph gr, child;
    CUgraphNode a = add_label(child, {}, "a");
    CUgraphNode n = add_child(gr, {}, child);
    add_label(child, {a}, "later");
    CUgraph emb = nullptr;
    r.k("get", cuGraphChildGraphNodeGetGraph(n, &emb));
    r.k("embedded_differs", emb != child.h);
    r.k("embedded", describe(emb));
    CUgraphNode x = nullptr;
    r.k("add_to_embedded", cuGraphAddEmptyNode(&x, emb, nullptr, 0));
    r.k("embedded2", describe(emb));
    CUgraph again = nullptr;
    OK(cuGraphChildGraphNodeGetGraph(n, &again));
    r.k("same_handle", again == emb);
    r.k("parent_nodes", count_nodes(gr));
    r.k("get_of_empty", cuGraphChildGraphNodeGetGraph(x, &again));
    r.k("destroy_child_source", child.destroy());
    r.k("embedded3", describe(emb));
  });
  add("graph.child_self", ISO, [](Rec& r) {
    Graph gr;
    add_label(gr, {}, "a");
    CUgraphNode n = nullptr;
    r.k("add_self", cuGraphAddChildGraphNode(&n, gr, nullptr, 0, gr));
    r.k("nodes", count_nodes(gr));
  });
  add("graph.child_destroy_embedded", [](Rec& r) {
    Graph gr, child;
    add_label(child, {}, "a");
    CUgraphNode n = add_child(gr, {}, child);
    CUgraph emb = nullptr;
    OK(cuGraphChildGraphNodeGetGraph(n, &emb));
    r.k("destroy_embedded", cuGraphDestroy(emb));
  });
  add("graph.child_embedded_instantiate", [](Rec& r) {
    Graph gr, child;
    add_label(child, {}, "a");
    CUgraphNode n = add_child(gr, {}, child);
    CUgraph emb = nullptr;
    OK(cuGraphChildGraphNodeGetGraph(n, &emb));
    CUgraphExec x = nullptr;
    r.k("instantiate_embedded", cuGraphInstantiate(&x, emb, 0));
    if (x) cuGraphExecDestroy(x);
    Graph gr2;
    CUgraphNode m = nullptr;
    r.k("embedded_as_child", cuGraphAddChildGraphNode(&m, gr2, nullptr, 0, emb));
  });
  add("graph.child_nested", [](Rec& r) {
    Graph a, b, c;
    Trace& t = new_trace();
    add_label(a, {}, "deep", &t);
    CUgraphNode x = add_label(b, {}, "b1", &t);
    CUgraphNode y = add_child(b, {x}, a);
    add_label(b, {y}, "b2", &t);
    CUgraphNode p = add_label(c, {}, "c1", &t);
    CUgraphNode q = add_child(c, {p}, b);
    add_label(c, {q}, "c2", &t);
    Exec e(c);
    Stream s(NB);
    OK(cuGraphLaunch(e, s));
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("graph.child_move", [](Rec& r) {
    Graph parent, parent2;
    Graph child;
    add_label(child, {}, "a");
    CUgraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_GRAPH;
    p.graph.graph = child;
    p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    CUgraphNode n = nullptr;
    CUresult e = r.k("add", cuGraphAddNode(&n, parent, nullptr, nullptr, 0, &p));
    if (e != CUDA_SUCCESS) return;
    CUgraph moved = child.h;
    child.h = nullptr;
    CUgraph emb = nullptr;
    OK(cuGraphChildGraphNodeGetGraph(n, &emb));
    r.k("same_handle", emb == moved);
    CUgraphExec x = nullptr;
    r.k("instantiate_child", cuGraphInstantiate(&x, moved, 0));
    CUgraphNode m = nullptr;
    r.k("add_node_to_child", cuGraphAddEmptyNode(&m, moved, nullptr, 0));
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_GRAPH;
    p.graph.graph = moved;
    p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    r.k("move_again", cuGraphAddNode(&m, parent2, nullptr, nullptr, 0, &p));
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_GRAPH;
    p.graph.graph = moved;
    r.k("clone_into_other", cuGraphAddNode(&m, parent2, nullptr, nullptr, 0, &p));
    r.k("instantiate_parent", cuGraphInstantiate(&x, parent, 0));
    if (x) cuGraphExecDestroy(x);
    r.k("destroy_child", cuGraphDestroy(moved));
  });
  add("graph.child_bad_ownership", [](Rec& r) {
    Graph parent, child;
    add_label(child, {}, "a");
    CUgraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_GRAPH;
    p.graph.graph = child;
    p.graph.ownership = static_cast<CUgraphChildGraphNodeOwnership>(7);
    CUgraphNode n = nullptr;
    r.k("add", cuGraphAddNode(&n, parent, nullptr, nullptr, 0, &p));
  });
  add("graph.node_set_child", ISO, [](Rec& r) {
    Graph outer, gr, child, same, more, empty, allocates, moved;
    add_label(child, {}, "a");
    add_label(same, {}, "b");
    add_label(more, {add_label(more, {}, "c")}, "d");
    add_label(moved, {}, "e");
    CUdeviceptr d = 0;
    add_alloc(allocates, {}, 64, &d);
    CUgraphNode n = add_child(gr, {}, child);
    const auto set = [&](const char* key, CUgraphNode of, CUgraph to, int ownership = 0,
                         int reserved = 0) {
      CUgraphNodeParams p;
      memset(&p, 0, sizeof p);
      p.type = CU_GRAPH_NODE_TYPE_GRAPH;
      p.graph.graph = to;
      p.graph.ownership = static_cast<CUgraphChildGraphNodeOwnership>(ownership);
      p.reserved2 = reserved;
      r.k(key, cuGraphNodeSetParams(of, &p));
    };
    set("null", n, nullptr);
    set("own", n, gr);
    CUgraph inside = nullptr;
    OK(cuGraphChildGraphNodeGetGraph(n, &inside));
    set("itself", n, inside);
    r.k("itself.nodes", count_nodes(inside));
    CUgraph embedded = nullptr;  // contains a node whose child becomes the graph around both
    OK(cuGraphChildGraphNodeGetGraph(add_child(outer, {}, child), &embedded));
    set("parent", add_child(embedded, {}, same), outer);
    set("memory", n, allocates);
    set("reserved", n, same, 0, 1);
    set("same", n, same);
    set("more", n, more);
    set("empty", n, empty);
    set("bad_ownership", n, same, 7);
    set("move", n, moved, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    moved.h = nullptr;  // no longer owned by this case, whatever the result
  });
}

}  // namespace weir::conformance
