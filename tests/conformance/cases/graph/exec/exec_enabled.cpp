// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_enabled.cpp - enabling and disabling nodes.
#include <optional>

#include "cases/graph/graph_update.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {

void exec_enabled_cases() {
  add("exec.enabled", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Event ev;
    auto* h = reinterpret_cast<uint32_t*>(g.pin);
    h[0] = 5;
    Trace& t = new_trace();
    Graph gr, ch;
    add_empty(ch);
    CUgraphNode m = add_memset(gr, {}, c.d, 1), cp = add_memcpy(gr, {m}, copy_h2d(g.dbuf, h, 4)),
                hn = add_label(gr, {cp}, "h", &t), em = add_empty(gr, {hn}),
                chn = add_child(gr, {em}, ch), rec = add_record(gr, {chn}, ev),
                wt = add_wait(gr, {chn}, ev), mo = add_memop(gr, {chn}, op_write(new_cell().d, 1));
    Exec x(gr);
    unsigned en = 9;
    r.k("get_memset", cuGraphNodeGetEnabled(x, m, &en));
    r.k("memset_enabled", en);
    r.k("disable_memset", cuGraphNodeSetEnabled(x, m, 0));
    OK(cuGraphNodeGetEnabled(x, m, &en));
    r.k("memset_enabled2", en);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("memset_ran", c.get());
    r.k("host_ran", t.size());
    r.k("enable_memset", cuGraphNodeSetEnabled(x, m, 2));
    OK(cuGraphNodeGetEnabled(x, m, &en));
    r.k("memset_enabled3", en);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("memset_ran2", c.get());
    r.k("disable_memcpy", cuGraphNodeSetEnabled(x, cp, 0));
    r.k("enable_memcpy", cuGraphNodeSetEnabled(x, cp, 1));
    r.k("disable_host", cuGraphNodeSetEnabled(x, hn, 0));
    r.k("get_host", cuGraphNodeGetEnabled(x, hn, &en));
    r.k("disable_empty", cuGraphNodeSetEnabled(x, em, 0));
    r.k("disable_child", cuGraphNodeSetEnabled(x, chn, 0));
    r.k("disable_record", cuGraphNodeSetEnabled(x, rec, 0));
    r.k("disable_wait", cuGraphNodeSetEnabled(x, wt, 0));
    r.k("disable_memop", cuGraphNodeSetEnabled(x, mo, 0));
    r.k("get_null_out", cuGraphNodeGetEnabled(x, m, nullptr));
    r.k("null_node", cuGraphNodeSetEnabled(x, nullptr, 0));
    Graph other;
    CUgraphNode f = add_memset(other, {}, c.d, 1);
    r.k("foreign_node", cuGraphNodeSetEnabled(x, f, 0));
  });
  add("exec.disabled_keeps_order", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    ValueGate v;
    Trace& t = new_trace();
    Graph gr;
    CUgraphNode w = add_gate(gr, {}, v), m = add_memset(gr, {w}, c.d, 1);
    add_label(gr, {m}, "after", &t);
    Exec x(gr);
    OK(cuGraphNodeSetEnabled(x, m, 0));
    OK(cuGraphLaunch(x, s));
    r.k("after_early", t.wait_size(1, kMustNotHappenMs));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("after_ran", t.size());
    r.k("memset", c.get());
  });
  add("exec.disabled_params_kept", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Graph gr;
    CUgraphNode m = add_memset(gr, {}, c.d, 1);
    Exec x(gr);
    OK(cuGraphNodeSetEnabled(x, m, 0));
    CUDA_MEMSET_NODE_PARAMS p = memset_params(c.d, 4);
    r.k("set_while_disabled", cuGraphExecMemsetNodeSetParams(x, m, &p, g.ctx));
    unsigned en = 9;
    OK(cuGraphNodeGetEnabled(x, m, &en));
    r.k("enabled_after_set", en);
    OK(cuGraphNodeSetEnabled(x, m, 1));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", c.get());
    OK(cuGraphNodeSetEnabled(x, m, 0));
    rec_update(r, "update", x, gr);
    OK(cuGraphNodeGetEnabled(x, m, &en));
    r.k("enabled_after_update", en);
  });
  add("exec.nodes_graph_gone", [](Rec& r) {
    // the nodes' handles outlive their graph if an executable was instantiated from it
    Stream s(NB);
    Cell c = new_cell();
    CUgraphNode m = nullptr;
    std::optional<Exec> x;
    {
      Graph gr;
      m = add_memset(gr, {}, c.d, 1);
      x.emplace(gr);
    }
    CUDA_MEMSET_NODE_PARAMS p = memset_params(c.d, 4);
    r.k("set", cuGraphExecMemsetNodeSetParams(*x, m, &p, g.ctx));
    OK(cuGraphLaunch(*x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", c.get());
    r.k("disable", cuGraphNodeSetEnabled(*x, m, 0));
    unsigned en = 9;
    r.k("get_enabled", cuGraphNodeGetEnabled(*x, m, &en));
    r.k("enabled", en);
  });
}

}  // namespace weir::conformance
