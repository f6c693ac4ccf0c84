// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_generic.cpp - nodes added by the generic call; large graphs.
#include "probe/probe.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weir::conformance {

void graph_generic_cases() {
  add("graph.add_node_generic", [](Rec& r) {
    Graph gr, ch;
    Event e;
    Cell c = new_cell();
    add_label(ch, {}, "in");
    auto zero = [] {
      CUgraphNodeParams p;
      memset(&p, 0, sizeof p);
      return p;
    };
    CUgraphNode n = nullptr, first = nullptr;
    CUgraphNodeParams p = zero();
    p.type = CU_GRAPH_NODE_TYPE_EMPTY;
    r.k("empty", cuGraphAddNode(&first, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_HOST;
    p.host.fn = label_fn;
    p.host.userData = new_label("h");
    r.k("host", cuGraphAddNode(&n, gr, &first, nullptr, 1, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_MEMSET;
    p.memset.dst = g.dbuf;
    p.memset.value = 3;
    p.memset.elementSize = 4;
    p.memset.width = 4;
    p.memset.height = 1;
    p.memset.ctx = g.ctx;
    r.k("memset", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p.memset.ctx = nullptr;
    r.k("memset_null_ctx", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    p.memcpy.copyCtx = g.ctx;
    p.memcpy.copyParams = copy_h2d(g.dbuf, g.pin, 64);
    r.k("memcpy", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p.memcpy.flags = 1;
    r.k("memcpy_flags", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_GRAPH;
    p.graph.graph = ch;
    r.k("child", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    p.eventRecord.event = e;
    r.k("record", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    p.eventWait.event = e;
    r.k("wait", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    CUstreamBatchMemOpParams op = op_write(c.d, 1);
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    p.memOp.ctx = g.ctx;
    p.memOp.count = 1;
    p.memOp.paramArray = &op;
    r.k("memop", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = static_cast<CUgraphNodeType>(77);
    r.k("bad_type", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_EMPTY;
    p.reserved0[1] = 1;
    r.k("reserved0", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_EMPTY;
    p.reserved2 = 1;
    r.k("reserved2", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    p = zero();
    p.type = CU_GRAPH_NODE_TYPE_EMPTY;
    p.reserved1[5] = 1;
    r.k("unused_bytes", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, &p));
    r.k("null_params", cuGraphAddNode(&n, gr, nullptr, nullptr, 0, nullptr));
    r.k("nodes", listed_types(gr));
  });
  add("graph.node_set_params_generic", [](Rec& r) {
    Graph gr;
    CUgraphNode h = add_label(gr, {}, "a"), e = add_empty(gr), m = add_memset(gr, {}, g.dbuf, 1);
    CUgraphNodeParams p;
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_HOST;
    p.host.fn = label_fn;
    p.host.userData = new_label("b");
    r.k("host", cuGraphNodeSetParams(h, &p));
    r.k("label", node_label(h));
    r.k("wrong_type", cuGraphNodeSetParams(m, &p));
    memset(&p, 0, sizeof p);
    p.type = CU_GRAPH_NODE_TYPE_EMPTY;
    r.k("empty", cuGraphNodeSetParams(e, &p));
    r.k("null", cuGraphNodeSetParams(h, nullptr));
  });
  add("graph.debug_dot", [](Rec& r) {
    Graph gr;
    CUgraphNode a = add_label(gr, {}, "a");
    add_memset(gr, {a}, g.dbuf, 1);
    const char* dir = getenv("TMPDIR");
    std::string path = std::string(dir && *dir ? dir : P_tmpdir) + "/probe_dot_" +
                       std::to_string(getpid()) + ".dot";
    r.k("print", cuGraphDebugDotPrint(gr, path.c_str(), 0));
    std::string text;
    if (FILE* f = fopen(path.c_str(), "r")) {
      char b[4096];
      size_t n;
      while ((n = fread(b, 1, sizeof b, f)) > 0) text.append(b, n);
      fclose(f);
    }
    r.k("digraph", text.find("digraph") != std::string::npos);
    r.k("edge", text.find("->") != std::string::npos);
    r.k("host_label", text.find("[style=\"solid\" shape=\"rectangle\" label=\"0\nHOST\n\"];\n\n") !=
                          std::string::npos);
    r.k("memset_label",
        text.find("[style=\"solid\" shape=\"invtrapezium\"label=\"1\nMEMSET\n(1,") !=
            std::string::npos);
    r.k("edge_end", text.find("_node_1\";\n") != std::string::npos);
    r.k("verbose", cuGraphDebugDotPrint(gr, path.c_str(), CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    r.k("unknown_flags", cuGraphDebugDotPrint(gr, path.c_str(), 1u << 30));
    r.k("bad_path", cuGraphDebugDotPrint(gr, "no_such_directory_of_the_probe/x.dot", 0));
    r.k("null_path", cuGraphDebugDotPrint(gr, nullptr, 0));
    unlink(path.c_str());
  });
  add("graph.kernel_attr_on_others", [](Rec& r) {
    Graph gr;
    CUgraphNode m = add_memset(gr, {}, g.dbuf, 1), e = add_empty(gr);
    CUkernelNodeAttrValue v;
    memset(&v, 0, sizeof v);
    r.k("get_memset", cuGraphKernelNodeGetAttribute(m, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    r.k("set_empty", cuGraphKernelNodeSetAttribute(e, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    r.k("copy", cuGraphKernelNodeCopyAttributes(m, e));
  });
  add("graph.large_chain", [](Rec& r) {
    Graph gr;
    auto& n = *leak<std::atomic<int>>(0);
    auto& bad = *leak<std::atomic<int>>(0);
    Nodes prev;
    for (int i = 0; i < 300; i++) {
      auto* f = new Closure([&n, &bad, i] {
        if (n.fetch_add(1) != i) bad++;
      });
      prev = {add_host(gr, prev, closure_fn, f)};
    }
    Exec x(gr);
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("ran", n.load());
    r.k("out_of_order", bad.load());
  });
  add("graph.modify_after_instantiate", [](Rec& r) {
    Graph gr;
    Trace& t = new_trace();
    CUgraphNode a = add_label(gr, {}, "a", &t);
    Exec x(gr);
    add_label(gr, {a}, "b", &t);
    CUDA_HOST_NODE_PARAMS p{};
    p.fn = label_fn;
    p.userData = new_label("changed", &t);
    OK(cuGraphHostNodeSetParams(a, &p));
    Stream s(NB);
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("exec_kept", t.str());
  });
}

}  // namespace weir::conformance
