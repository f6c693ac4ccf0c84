// SPDX-License-Identifier: Apache-2.0
// cases/context/ub.cpp - undefined uses of handles: the driver's behavior, for information.
#include "cases/graph/user_objects.hpp"
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {

void ub_cases() {
  add("ub.stream_destroyed", ISO, [](Rec& r) {
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    OK(cuStreamDestroy(s));
    r.k("~query", cuStreamQuery(s));
    r.k("~sync", cuStreamSynchronize(s));
    r.k("~host_func", cuLaunchHostFunc(s, label_fn, new_label("x")));
    r.k("~destroy", cuStreamDestroy(s));
  });
  add("ub.event_destroyed", ISO, [](Rec& r) {
    CUevent e = nullptr;
    OK(cuEventCreate(&e, 0));
    OK(cuEventDestroy(e));
    r.k("~query", cuEventQuery(e));
    r.k("~record", cuEventRecord(e, nullptr));
    r.k("~destroy", cuEventDestroy(e));
  });
  add("ub.graph_destroyed", ISO, [](Rec& r) {
    CUgraph q = nullptr;
    OK(cuGraphCreate(&q, 0));
    OK(cuGraphDestroy(q));
    size_t n = 0;
    r.k("~get_nodes", cuGraphGetNodes(q, nullptr, &n));
    r.k("~destroy", cuGraphDestroy(q));
  });
  add("ub.exec_destroyed", ISO, [](Rec& r) {
    Graph gr;
    add_empty(gr);
    CUgraphExec x = nullptr;
    OK(cuGraphInstantiate(&x, gr, 0));
    OK(cuGraphExecDestroy(x));
    r.k("~launch", cuGraphLaunch(x, nullptr));
    r.k("~destroy", cuGraphExecDestroy(x));
  });
  add("ub.node_destroyed", ISO, [](Rec& r) {
    Graph gr;
    CUgraphNode n = add_empty(gr);
    OK(cuGraphDestroyNode(n));
    CUgraphNodeType t;
    r.k("~type", cuGraphNodeGetType(n, &t));
    r.k("~destroy", cuGraphDestroyNode(n));
  });
  add("ub.stream_garbage", ISO, [](Rec& r) {
    r.k("~query", cuStreamQuery(reinterpret_cast<CUstream>(static_cast<uintptr_t>(0x1234))));
  });
  add("ub.event_garbage", ISO, [](Rec& r) {
    r.k("~query", cuEventQuery(reinterpret_cast<CUevent>(static_cast<uintptr_t>(0x1234))));
  });
  add("ub.graph_garbage", ISO, [](Rec& r) {
    size_t n = 0;
    r.k("~nodes",
        cuGraphGetNodes(reinterpret_cast<CUgraph>(static_cast<uintptr_t>(0x1234)), nullptr, &n));
  });
  add("ub.context_garbage", ISO, [](Rec& r) {
    r.k("~push", cuCtxPushCurrent(reinterpret_cast<CUcontext>(static_cast<uintptr_t>(0x1234))));
  });
  add("ub.handle_of_other_kind", ISO, [](Rec& r) {
    Stream s(NB);
    r.k("~event_query_on_stream", cuEventQuery(reinterpret_cast<CUevent>(s.s)));
  });
  add("ub.pool_destroyed", ISO, [](Rec& r) {
    CUmemPoolProps p = pool_props();
    CUmemoryPool q = nullptr;
    OK(cuMemPoolCreate(&q, &p));
    OK(cuMemPoolDestroy(q));
    r.k("~trim", cuMemPoolTrimTo(q, 0));
    r.k("~destroy", cuMemPoolDestroy(q));
  });
  add("ub.user_object_released", ISO, [](Rec& r) {
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    OK(cuUserObjectRelease(u, 1));
    gone(d);
    r.k("~retain", cuUserObjectRetain(u, 1));
  });
}

}  // namespace weir::conformance
