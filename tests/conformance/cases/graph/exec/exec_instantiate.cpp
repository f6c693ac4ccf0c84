// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_instantiate.cpp - instantiating, and the order of nodes.
#include "probe/probe.hpp"

#include <atomic>
#include <cstring>

namespace weir::conformance {

void exec_instantiate_cases() {
  add("exec.instantiate_flags", [](Rec& r) {
    Graph gr, set;
    add_label(gr, {}, "a");
    add_memset(set, {}, g.dbuf, 1);
    for (unsigned long long f : {0ull, 1ull, 2ull, 4ull, 8ull, 9ull, 5ull, 16ull, 1ull << 40}) {
      CUgraphExec x = nullptr;
      std::string k = "f" + std::to_string(f);
      r.k(k, cuGraphInstantiate(&x, gr, f));
      if (x) {
        cuuint64_t got = 99;
        r.k(k + ".get", cuGraphExecGetFlags(x, &got));
        r.k(k + ".flags", got);
        cuGraphExecDestroy(x);
      }
    }
    CUgraphExec x = nullptr;
    r.k("device_launch_memset",
        cuGraphInstantiate(&x, set, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
    if (x) cuGraphExecDestroy(x);
    Graph empty;
    x = nullptr;
    r.k("empty", cuGraphInstantiate(&x, empty, 0));
    if (x) cuGraphExecDestroy(x);
    x = nullptr;
    r.k("empty_device_launch",
        cuGraphInstantiate(&x, empty, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
    if (x) cuGraphExecDestroy(x);
  });
  add("exec.instantiate_params", [](Rec& r) {
    Graph gr;
    CUgraphNode h = add_label(gr, {}, "a");
    Stream s(NB);
    for (unsigned long long f : {0ull, 2ull, 4ull, 16ull, 3ull, 6ull}) {
      CUDA_GRAPH_INSTANTIATE_PARAMS p;
      memset(&p, 0, sizeof p);
      p.flags = f;
      p.hUploadStream = s;
      p.result_out = static_cast<CUgraphInstantiateResult>(99);
      CUgraphExec x = nullptr;
      std::string k = "f" + std::to_string(f);
      r.k(k, cuGraphInstantiateWithParams(&x, gr, &p));
      r.k(k + ".result", p.result_out);
      r.k(k + ".err", p.hErrNode_out == nullptr ? "null" : p.hErrNode_out == h ? "host" : "other");
      if (x) {
        cuuint64_t got = 99;
        cuGraphExecGetFlags(x, &got);
        r.k(k + ".flags", got);
        cuStreamSynchronize(s);
        cuGraphExecDestroy(x);
      }
    }
    CUgraphExec x = nullptr;
    CUDA_GRAPH_INSTANTIATE_PARAMS p;
    memset(&p, 0, sizeof p);
    r.k("null_params", cuGraphInstantiateWithParams(&x, gr, nullptr));
    r.k("null_graph", cuGraphInstantiateWithParams(&x, nullptr, &p));
    r.k("null_graph.result", p.result_out);
  });
  add("exec.many_instances", [](Rec& r) {
    Graph gr;
    Trace& t = new_trace();
    add_label(gr, {}, "a", &t);
    Exec x(gr), y(gr), z(gr);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuGraphLaunch(y, s));
    OK(cuGraphLaunch(z, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.size());
  });
  add("exec.graph_destroyed_first", [](Rec& r) {
    Trace& t = new_trace();
    auto gr = std::make_unique<Graph>();
    add_label(*gr, {}, "a", &t);
    Exec x(*gr);
    r.k("destroy_graph", gr->destroy());
    Stream s(NB);
    r.k("launch", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", t.str());
  });
  add("exec.order_chain", [](Rec& r) {
    Graph gr;
    Trace& t = new_trace();
    CUgraphNode a = add_label(gr, {}, "a", &t), b = add_label(gr, {a}, "b", &t);
    add_label(gr, {b}, "c", &t);
    Exec x(gr);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("exec.order_diamond", [](Rec& r) {
    Graph gr;
    Trace& t = new_trace();
    CUgraphNode a = add_label(gr, {}, "a", &t), b = add_label(gr, {a}, "m", &t),
                c = add_label(gr, {a}, "m", &t);
    add_label(gr, {b, c}, "d", &t);
    Exec x(gr);
    Stream s(NB);
    for (int i = 0; i < 3; i++) OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("exec.order_added_backwards", [](Rec& r) {
    // nodes created in reverse order
    Graph gr;
    Trace& t = new_trace();
    CUgraphNode c = add_label(gr, {}, "c", &t), b = add_label(gr, {}, "b", &t),
                a = add_label(gr, {}, "a", &t);
    OK(cuGraphAddDependencies(gr, &a, &b, nullptr, 1));
    OK(cuGraphAddDependencies(gr, &b, &c, nullptr, 1));
    Exec x(gr);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("exec.mixed_nodes", [](Rec& r) {
    // memset -> copy -> copy -> host -> memset, on one block of memory
    Graph gr;
    auto* h = reinterpret_cast<uint32_t*>(g.pin);
    h[0] = 0;
    auto& seen = *leak<std::atomic<uint32_t>>(0u);
    CUgraphNode a = add_memset(gr, {}, g.dbuf, 12, 4);
    CUgraphNode b = add_memcpy(gr, {a}, copy_d2d(g.dbuf + 4096, g.dbuf, 16));
    CUgraphNode c = add_memcpy(gr, {b}, copy_d2h(h, g.dbuf + 4096, 16));
    CUgraphNode d = add_host(gr, {c}, closure_fn, new Closure([h, &seen] { seen = h[3]; }));
    add_memset(gr, {d}, g.dbuf, 13, 4);
    Exec x(gr);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("seen", seen.load());
    uint32_t out = 0;
    OK(cuMemcpyDtoH(&out, g.dbuf, 4));
    r.k("last", out);
  });
}

}  // namespace weir::conformance
