// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_update.cpp - updating whole graphs.
#include "cases/graph/graph_update.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {

void exec_update_cases() {
  add("exec.update_same", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a", &t);
    add_label(gr, {a}, "b", &t);
    Exec x(gr);
    rec_update(r, "same", x, gr);
    Graph n;
    CUgraphNode p = add_label(n, {}, "c", &t);
    add_label(n, {p}, "d", &t);
    rec_update(r, "new_functions", x, n);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.str());
    CUgraphExecUpdateResultInfo i;
    r.k("null_info", cuGraphExecUpdate(x, n, nullptr));
    r.k("null_graph", cuGraphExecUpdate(x, nullptr, &i));
  });
  add("exec.update_from_clone", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a");
    add_label(gr, {a}, "b");
    Exec x(gr);
    CUgraph c = nullptr;
    OK(cuGraphClone(&c, gr));
    Graph own(c);
    rec_update(r, "clone", x, c);
  });
  add("exec.update_topology", [](Rec& r) {
    auto base = [](Graph& gr) {
      CUgraphNode a = add_label(gr, {}, "a"), b = add_label(gr, {a}, "b");
      add_label(gr, {b}, "c");
    };
    Graph gr;
    base(gr);
    Exec x(gr);
    {
      Graph n;
      base(n);
      add_label(n, {}, "extra");
      rec_update(r, "more_nodes", x, n);
    }
    {
      Graph n;
      CUgraphNode a = add_label(n, {}, "a");
      add_label(n, {a}, "b");
      rec_update(r, "fewer_nodes", x, n);
    }
    {
      Graph n;
      CUgraphNode a = add_label(n, {}, "a");
      add_label(n, {a}, "b");
      add_label(n, {a}, "c");
      rec_update(r, "fork_for_chain", x, n);
    }
    {
      Graph n;
      add_label(n, {}, "a");
      CUgraphNode b = add_label(n, {}, "b");
      add_label(n, {b}, "c");
      rec_update(r, "missing_edge", x, n);
    }
    {
      Graph n;
      CUgraphNode a = add_label(n, {}, "a"), b = add_label(n, {a}, "b");
      add_label(n, {a, b}, "c");
      rec_update(r, "extra_edge", x, n);
    }
    {
      Graph n;
      rec_update(r, "empty", x, n);
    }
    {
      Graph n;
      CUgraphNode c = add_label(n, {}, "c"), b = add_label(n, {}, "b"), a = add_label(n, {}, "a");
      OK(cuGraphAddDependencies(n, &a, &b, nullptr, 1));
      OK(cuGraphAddDependencies(n, &b, &c, nullptr, 1));
      rec_update(r, "same_shape_other_creation_order", x, n);
    }
    Stream s(NB);
    r.k("launch_after_failures", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
  });
  add("exec.update_failed_keeps_old", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr, n;
    CUgraphNode a = add_label(gr, {}, "a", &t);
    add_label(gr, {a}, "b", &t);
    CUgraphNode p = add_label(n, {}, "new", &t);
    add_empty(n, {p});
    Exec x(gr);
    rec_update(r, "update", x, n);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.str());
  });
  add("exec.update_type", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a");
    add_label(gr, {a}, "b");
    Exec x(gr);
    Graph n;
    CUgraphNode p = add_label(n, {}, "a");
    add_empty(n, {p});
    rec_update(r, "host_to_empty", x, n);
    Graph m;
    CUgraphNode q = add_memset(m, {}, g.dbuf, 1);
    add_label(m, {q}, "b");
    rec_update(r, "host_to_memset", x, m);
  });
}

}  // namespace weir::conformance
