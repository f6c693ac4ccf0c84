// SPDX-License-Identifier: Apache-2.0
// cases/graph/userobj_update.cpp - user objects of an updated executable, and words that nodes may
// write.
#include "cases/graph/user_objects.hpp"
#include "probe/probe.hpp"

#include <memory>

namespace weir::conformance {

namespace {

std::unique_ptr<Graph> graph_with(Destroyed& d) {
  auto gr = std::make_unique<Graph>();
  add_empty(*gr);
  CUuserObject u = make_object(d);
  OK(cuGraphRetainUserObject(*gr, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
  return gr;
}

}  // namespace

void userobj_update_cases() {
  add("userobj.update_while_launched", [](Rec& r) {
    auto &old = *leak<Destroyed>(), &now = *leak<Destroyed>();
    Stream s(NB);
    ValueGate v;
    auto a = graph_with(old), b = graph_with(now);
    Exec x(*a);
    a.reset();
    v.arm(s);
    r.k("launch", cuGraphLaunch(x, s));
    CUgraphExecUpdateResultInfo info{};
    r.k("update", cuGraphExecUpdate(x, *b, &info));
    b.reset();
    r.k("old_still", still(old));
    r.k("new_still", still(now));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("old_gone", gone(old));
    r.k("new_still_afterwards", still(now));
    r.k("destroy_exec", x.destroy());
    r.k("new_gone", gone(now));
    r.k("old_gone_at_last", gone(old));
  });
  add("userobj.update_at_rest", [](Rec& r) {
    auto &old = *leak<Destroyed>(), &now = *leak<Destroyed>();
    auto a = graph_with(old), b = graph_with(now);
    Exec x(*a);
    a.reset();
    CUgraphExecUpdateResultInfo info{};
    r.k("update", cuGraphExecUpdate(x, *b, &info));
    r.k("old_gone", gone(old));
    r.k("new_still", still(now));
    b.reset();
    r.k("new_still_without_graph", still(now));
    r.k("destroy_exec", x.destroy());
    r.k("new_gone", gone(now));
    r.k("old_gone_at_last", gone(old));
  });
  add("userobj.exec_set_child", [](Rec& r) {
    auto &old = *leak<Destroyed>(), &now = *leak<Destroyed>();
    Stream s(NB);
    auto a = graph_with(old), b = graph_with(now);
    Graph gr;
    const CUgraphNode n = add_child(gr, {}, *a);
    Exec x(gr);
    a.reset();
    r.k("set", cuGraphExecChildGraphNodeSetParams(x, n, *b));
    r.k("old_still", still(old));
    b.reset();
    r.k("new_still", still(now));
    r.k("launch", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("destroy_exec", x.destroy());
    r.k("new_gone", gone(now));
    r.k("old_still_at_last", still(old));
  });
  add("graph.memop_node_places", [](Rec& r) {
    Stream s(NB);
    auto node = [&](const char* key, CUdeviceptr at) {
      Graph gr;
      CUstreamBatchMemOpParams op = op_write(at, 7);
      CUDA_BATCH_MEM_OP_NODE_PARAMS p{};
      p.ctx = g.ctx;
      p.count = 1;
      p.paramArray = &op;
      CUgraphNode n = nullptr;
      if (r.k(std::string(key) + ".add", cuGraphAddBatchMemOpNode(&n, gr, nullptr, 0, &p)) !=
          CUDA_SUCCESS)
        return;
      CUgraphExec x = nullptr;
      if (r.k(std::string(key) + ".instantiate", cuGraphInstantiate(&x, gr, 0)) != CUDA_SUCCESS)
        return;
      r.k(std::string(key) + ".launch", cuGraphLaunch(x, s));
      r.k(std::string(key) + ".sync", cuStreamSynchronize(s));
      cuGraphExecDestroy(x);
    };
    CUdeviceptr managed = 0, pooled = 0;
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocAsync(&pooled, 4096, s));
    OK(cuStreamSynchronize(s));
    node("managed", managed);
    node("pooled", pooled);
    OK(cuMemFree(managed));
    OK(cuMemFreeAsync(pooled, s));
    OK(cuStreamSynchronize(s));
  });
}

}  // namespace weir::conformance
