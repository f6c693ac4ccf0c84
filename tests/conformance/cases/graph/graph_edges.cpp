// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_edges.cpp - nodes, dependencies and cycles.
#include "probe/probe.hpp"

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include <cstring>

namespace weir::conformance {

void graph_edges_cases() {
  add("graph.create_flags", [](Rec& r) {
    for (unsigned f : {0u, 1u, 2u, 0xffffffffu}) {
      CUgraph gr = nullptr;
      r.k("f" + std::to_string(f), cuGraphCreate(&gr, f));
      if (gr) cuGraphDestroy(gr);
    }
  });
  add("graph.empty_counts", [](Rec& r) {
    Graph gr;
    r.k("nodes", count_nodes(gr));
    r.k("roots", count_roots(gr));
    r.k("edges", count_edges(gr));
    r.k("destroy", gr.destroy());
  });
  add("graph.all_node_types", [](Rec& r) {
    Graph gr, child;
    Event e;
    Cell c = new_cell();
    add_label(child, {}, "in");
    r.k("empty", type_of(add_empty(gr)));
    r.k("host", type_of(add_label(gr, {}, "h")));
    r.k("memset", type_of(add_memset(gr, {}, g.dbuf, 1)));
    r.k("memcpy", type_of(add_memcpy(gr, {}, copy_h2d(g.dbuf, g.pin, 64))));
    r.k("child", type_of(add_child(gr, {}, child)));
    r.k("record", type_of(add_record(gr, {}, e)));
    r.k("wait", type_of(add_wait(gr, {}, e)));
    r.k("memop", type_of(add_memop(gr, {}, op_write(c.d, 1))));
    r.k("nodes", count_nodes(gr));
    r.k("listed", listed_types(gr));
    r.k("type_null_out", cuGraphNodeGetType(nodes_of(gr)[0], nullptr));
  });
  add("graph.dependencies", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {a}, "b"),
                c = add_label(gr, {a}, "c"), d = add_label(gr, {b, c}, "d");
    r.k("graph", describe(gr));
    r.k("roots", count_roots(gr));
    r.k("edges", count_edges(gr));
    r.k("d_deps", count_deps(d));
    r.k("a_deps", count_deps(a));
    r.k("a_dependents", count_dependents(a));
    r.k("d_dependents", count_dependents(d));
    Nodes two(2);
    size_t n = 2;
    r.k("get_deps", cuGraphNodeGetDependencies(d, two.data(), nullptr, &n));
    r.k("deps_are_b_c", n == 2 && ((two[0] == b && two[1] == c) || (two[0] == c && two[1] == b)));
    r.k("~deps_in_order", two[0] == b);
  });
  add("graph.bad_dependencies", [](Rec& r) {
    Graph gr, other;
    CUgraphNode a = add_empty(gr), f = add_empty(other), n = nullptr;
    CUgraphNode twice[2] = {a, a};
    CUgraphNode mixed[2] = {a, f};
    r.k("duplicate", cuGraphAddEmptyNode(&n, gr, twice, 2));
    r.k("foreign", cuGraphAddEmptyNode(&n, gr, &f, 1));
    r.k("mixed", cuGraphAddEmptyNode(&n, gr, mixed, 2));
    r.k("nodes_after", count_nodes(gr));
    r.k("other_nodes_after", count_nodes(other));
    r.k("deps_ignored_count0", cuGraphAddEmptyNode(&n, gr, &f, 0));
  });
  // Some of several edges are valid: which edges exist afterwards.
  add("graph.some_dependencies", [](Rec& r) {
    const auto change = [&](const char* key, std::initializer_list<const char*> edges,
                            bool remove) {
      Graph gr, other;
      std::map<char, CUgraphNode> nodes;
      for (const char* name : {"a", "b", "c", "d"}) nodes[*name] = add_label(gr, {}, name);
      nodes['f'] = add_empty(other);
      nodes['0'] = nullptr;
      OK(cuGraphAddDependencies(gr, &nodes['a'], &nodes['b'], nullptr, 1));
      std::vector<CUgraphNode> from, to;
      for (const char* edge : edges) {
        from.push_back(nodes[edge[0]]);
        to.push_back(nodes[edge[1]]);
      }
      const auto call = remove ? cuGraphRemoveDependencies : cuGraphAddDependencies;
      r.k(key, call(gr, from.data(), to.data(), nullptr, from.size()));
      r.k(std::string{key} + ".graph", describe(gr));
    };
    change("new_and_old", {"bc", "ab"}, false);
    change("old_and_new", {"ab", "bc"}, false);
    change("new_old_new", {"bc", "ab", "cd"}, false);
    change("new_and_self", {"bc", "cc"}, false);
    change("new_and_foreign", {"bc", "cf"}, false);
    change("new_and_null", {"bc", "c0"}, false);
    change("new_twice", {"bc", "bc"}, false);
    change("remove_old_and_none", {"ab", "bc"}, true);
    change("remove_none_and_old", {"bc", "ab"}, true);
    change("remove_old_and_foreign", {"ab", "bf"}, true);
    change("remove_old_and_null", {"ab", "b0"}, true);
    change("remove_old_twice", {"ab", "ab"}, true);
  });
  add("graph.add_dependencies", [](Rec& r) {
    Graph gr, other;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {}, "b"), c = add_label(gr, {}, "c"),
                f = add_empty(other);
    r.k("ab", cuGraphAddDependencies(gr, &a, &b, nullptr, 1));
    r.k("ab_again", cuGraphAddDependencies(gr, &a, &b, nullptr, 1));
    r.k("self", cuGraphAddDependencies(gr, &c, &c, nullptr, 1));
    r.k("foreign_to", cuGraphAddDependencies(gr, &a, &f, nullptr, 1));
    r.k("foreign_from", cuGraphAddDependencies(gr, &f, &a, nullptr, 1));
    r.k("wrong_graph", cuGraphAddDependencies(other, &a, &c, nullptr, 1));
    r.k("count0", cuGraphAddDependencies(gr, nullptr, nullptr, nullptr, 0));
    r.k("null_count1", cuGraphAddDependencies(gr, nullptr, nullptr, nullptr, 1));
    CUgraphNode from[2] = {a, b}, to[2] = {c, c};
    r.k("two", cuGraphAddDependencies(gr, from, to, nullptr, 2));
    r.k("graph", describe(gr));
    CUgraphNode from2[2] = {a, a}, to2[2] = {b, b};
    Graph g2;
    CUgraphNode x = add_label(g2, {}, "x"), y = add_label(g2, {}, "y");
    from2[0] = from2[1] = x;
    to2[0] = to2[1] = y;
    r.k("same_edge_twice_in_call", cuGraphAddDependencies(g2, from2, to2, nullptr, 2));
    r.k("graph2", describe(g2));
  });
  add("graph.add_dependencies_partial", [](Rec& r) {
    // the second edge of a call is invalid: whether the first is added
    Graph gr, other;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {}, "b"), f = add_empty(other);
    CUgraphNode from[2] = {a, a}, to[2] = {b, f};
    r.k("add", cuGraphAddDependencies(gr, from, to, nullptr, 2));
    r.k("graph", describe(gr));
  });
  add("graph.edge_data", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {}, "b");
    CUgraphEdgeData d;
    memset(&d, 0, sizeof d);
    d.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    d.from_port = 1;
    r.k("programmatic_host", cuGraphAddDependencies(gr, &a, &b, &d, 1));
    d.type = 9;
    d.from_port = 0;
    r.k("type9", cuGraphAddDependencies(gr, &a, &b, &d, 1));
    memset(&d, 0, sizeof d);
    d.to_port = 1;
    r.k("to_port", cuGraphAddDependencies(gr, &a, &b, &d, 1));
    memset(&d, 0, sizeof d);
    d.from_port = 1;
    r.k("from_port", cuGraphAddDependencies(gr, &a, &b, &d, 1));
    memset(&d, 0, sizeof d);
    d.reserved[0] = 1;
    r.k("reserved", cuGraphAddDependencies(gr, &a, &b, &d, 1));
    memset(&d, 0, sizeof d);
    r.k("zero", cuGraphAddDependencies(gr, &a, &b, &d, 1));
    r.k("graph", describe(gr));
    memset(&d, 0, sizeof d);
    d.type = 1;
    r.k("remove_other_data", cuGraphRemoveDependencies(gr, &a, &b, &d, 1));
    memset(&d, 0, sizeof d);
    r.k("remove_same_data", cuGraphRemoveDependencies(gr, &a, &b, &d, 1));
  });
  add("graph.remove_dependencies", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {a}, "b"),
                c = add_label(gr, {b}, "c");
    r.k("ab", cuGraphRemoveDependencies(gr, &a, &b, nullptr, 1));
    r.k("ab_again", cuGraphRemoveDependencies(gr, &a, &b, nullptr, 1));
    r.k("ac_never", cuGraphRemoveDependencies(gr, &a, &c, nullptr, 1));
    r.k("cb_reverse", cuGraphRemoveDependencies(gr, &c, &b, nullptr, 1));
    r.k("count0", cuGraphRemoveDependencies(gr, nullptr, nullptr, nullptr, 0));
    r.k("null_count1", cuGraphRemoveDependencies(gr, nullptr, nullptr, nullptr, 1));
    r.k("graph", describe(gr));
    r.k("roots", count_roots(gr));
  });
  add("graph.cycles", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {a}, "b"),
                c = add_label(gr, {b}, "c");
    r.k("close", cuGraphAddDependencies(gr, &c, &a, nullptr, 1));
    r.k("edges", count_edges(gr));
    r.k("roots", count_roots(gr));
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    r.k("exec_null", x == nullptr);
    CUDA_GRAPH_INSTANTIATE_PARAMS p;
    memset(&p, 0, sizeof p);
    r.k("with_params", cuGraphInstantiateWithParams(&x, gr, &p));
    r.k("result", p.result_out);
    r.k("err_node_in_graph", p.hErrNode_out == a || p.hErrNode_out == b || p.hErrNode_out == c);
    r.k("err_node_null", p.hErrNode_out == nullptr);
    Graph g2;
    CUgraphNode x1 = add_label(g2, {}, "x"), y1 = add_label(g2, {x1}, "y");
    r.k("two_cycle", cuGraphAddDependencies(g2, &y1, &x1, nullptr, 1));
    CUgraphExec z = nullptr;
    r.k("two_cycle_instantiate", cuGraphInstantiate(&z, g2, 0));
    CUgraph cl = nullptr;
    r.k("clone_cyclic", cuGraphClone(&cl, gr));
    if (cl) cuGraphDestroy(cl);
  });
}

}  // namespace weir::conformance
