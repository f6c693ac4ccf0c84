// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_launch.cpp - launching: order, threads, streams, destruction.
#include "probe/probe.hpp"

#include <atomic>

namespace weir::conformance {

void exec_launch_cases() {
  add("exec.launch_in_stream_order", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "g1", &t);
    add_label(gr, {a}, "g2", &t);
    Exec x(gr);
    ValueGate v;
    v.arm(s);
    hf(s, t, "before");
    OK(cuGraphLaunch(x, s));
    hf(s, t, "after");
    r.k("early", t.wait_size(1, kMustNotHappenMs));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("exec.launch_does_not_block_host", [](Rec& r) {
    Stream s(NB);
    ValueGate v;
    Graph gr;
    add_gate(gr, {}, v);
    Exec x(gr);
    record_blocking(r, "launch", blocking([&] { v.open(); }, [&] { return cuGraphLaunch(x, s); }));
    record_blocking(r, "launch_again",
                    blocking([&] { v.open(); }, [&] { return cuGraphLaunch(x, s); }));
    r.k("query", cuStreamQuery(s));
    v.open();
    r.k("sync", cuStreamSynchronize(s));
  });
  add("exec.stream_waits_for_graph", [](Rec& r) {
    Stream s(NB);
    ValueGate v;
    Cell c = new_cell();
    Graph gr;
    add_gate(gr, {}, v);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    mark(s, c);
    Event e;
    OK(cuEventRecord(e, s));
    r.k("early", early(c));
    r.k("event", cuEventQuery(e));
    record_blocking(r, "sync", blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(s); }));
    r.k("done", c.get());
  });
  add("exec.no_work_two_streams", [](Rec& r) {
    // executables without work, whose launches cannot overlap
    Event never;
    const auto launch = [&](const char* name, auto build) {
      Stream s(NB), u(NB);
      ValueGate v;
      Graph gr;
      build(gr);
      Exec x(gr);
      if (std::string(name) == "disabled") OK(cuGraphNodeSetEnabled(x, nodes_of(gr).at(0), 0));
      Cell c = new_cell();
      v.arm(s);
      OK(cuGraphLaunch(x, s));
      OK(cuGraphLaunch(x, u));
      mark(u, c);
      r.k(std::string(name) + ".second_stream_early", early(c));
      v.open();
      OK(cuStreamSynchronize(s));
      OK(cuStreamSynchronize(u));
    };
    launch("no_nodes", [](Graph&) {});
    launch("empty_node", [](Graph& gr) { add_empty(gr, {}); });
    launch("two_empty_nodes", [](Graph& gr) { add_empty(gr, {add_empty(gr, {})}); });
    launch("empty_child", [](Graph& gr) {
      Graph child;
      add_child(gr, {}, child);
    });
    launch("disabled", [](Graph& gr) { add_memset(gr, {}, g.dbuf, 1, 4); });
    launch("set", [](Graph& gr) { add_memset(gr, {}, g.dbuf, 1, 4); });
    launch("wait_for_event", [&](Graph& gr) {
      CUgraphNode n = nullptr;
      OK(cuGraphAddEventWaitNode(&n, gr, nullptr, 0, never));
    });
  });
  add("exec.same_exec_two_streams", [](Rec& r) {
    // launches of one executable graph do not overlap, whatever their streams
    Stream s(NB), u(NB);
    ValueGate v;
    auto& started = *leak<std::atomic<int>>(0);
    Graph gr;
    CUgraphNode a = add_host(gr, {}, closure_fn, new Closure([&started] { started++; }));
    add_gate(gr, {a}, v);
    Exec x(gr);
    Cell c = new_cell();
    OK(cuGraphLaunch(x, s));
    OK(cuGraphLaunch(x, u));
    mark(u, c);
    wait_for([&] { return started.load() >= 1; }, kMustHappenMs);
    sleep_ms(150);
    r.k("started_while_first_runs", started.load());
    r.k("second_stream_early", c.get());
    v.open();
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(u));
    r.k("started", started.load());
  });
  add("exec.two_execs_two_streams", [](Rec& r) {
    Stream s(NB), u(NB);
    ValueGate v;
    auto& started = *leak<std::atomic<int>>(0);
    Graph gr;
    CUgraphNode a = add_host(gr, {}, closure_fn, new Closure([&started] { started++; }));
    add_gate(gr, {a}, v);
    Exec x(gr), y(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuGraphLaunch(y, u));
    r.k("both_started", wait_for([&] { return started.load() == 2; }, 2000));
    v.open();
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(u));
  });
  add("exec.order_of_launches_across_streams", [](Rec& r) {
    // a launch in a blocked stream, then one of that executable in a free stream
    Stream s(NB), u(NB);
    ValueGate v;
    Trace& t = new_trace();
    Graph gr;
    add_label(gr, {}, "g", &t);
    Exec x(gr);
    v.arm(s);
    OK(cuGraphLaunch(x, s));
    OK(cuGraphLaunch(x, u));
    r.k("second_runs_before_first", t.wait_size(1, 300));
    v.open();
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(u));
    r.k("ran", t.size());
  });
  add("exec.independent_branches", [](Rec& r) {
    Stream s(NB);
    ValueGate v;
    Cell c = new_cell(), d = new_cell();
    Graph gr;
    CUgraphNode a = add_gate(gr, {}, v);
    add_memset(gr, {a}, d.d, 1);
    add_memset(gr, {}, c.d, 1);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    r.k("~free_branch_runs", wait_cell(c, 1, 400));
    r.k("gated_early", d.get());
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("done", c.get() + d.get());
  });
  add("exec.special_streams", [](Rec& r) {
    Trace& t = new_trace();
    Graph gr;
    add_label(gr, {}, "g", &t);
    Exec x(gr);
    r.k("null", cuGraphLaunch(x, nullptr));
    r.k("legacy", cuGraphLaunch(x, LEGACY));
    r.k("per_thread", cuGraphLaunch(x, PER_THREAD));
    OK(cuCtxSynchronize());
    r.k("ran", t.size());
  });
  add("exec.launch_from_threads", [](Rec& r) {
    Trace& t = new_trace();
    Graph gr;
    add_label(gr, {}, "g", &t);
    Exec x(gr);
    Stream s(NB);
    on_thread([&] { r.k("other", cuGraphLaunch(x, s)); });
    r.k("main", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.size());
  });
  add("exec.destroy_while_running", [](Rec& r) {
    Stream s(NB);
    ValueGate v;
    Cell c = new_cell();
    Graph gr;
    CUgraphNode a = add_gate(gr, {}, v);
    add_memset(gr, {a}, c.d, 1);
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    record_blocking(r, "destroy_exec", blocking([&] { v.open(); }, [&] { return x.destroy(); }));
    record_blocking(r, "destroy_graph", blocking([&] { v.open(); }, [&] { return gr.destroy(); }));
    r.k("early", early(c));
    v.open();
    r.k("completed", late(c));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("exec.destroy_before_start", [](Rec& r) {
    Stream s(NB);
    ValueGate v;
    Trace& t = new_trace();
    Graph gr;
    add_label(gr, {}, "g", &t);
    Exec x(gr);
    v.arm(s);
    OK(cuGraphLaunch(x, s));
    OK(cuGraphLaunch(x, s));
    record_blocking(r, "destroy_exec", blocking([&] { v.open(); }, [&] { return x.destroy(); }));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("ran", t.size());
  });
}

}  // namespace weir::conformance
