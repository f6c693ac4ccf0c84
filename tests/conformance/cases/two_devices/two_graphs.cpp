// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_graphs.cpp - nodes of device 1 in graphs built by hand: copies and memsets
// with a context, launched on either device.
#include "cases/two_devices/two_reach.hpp"

namespace weir::conformance {
namespace {

CUresult add_set_in(CUcontext c, CUgraph gr, CUdeviceptr p, uint32_t value, CUgraphNode* n) {
  const CUDA_MEMSET_NODE_PARAMS q = memset_params(p, value, 16);
  return cuGraphAddMemsetNode(n, gr, nullptr, 0, &q, c);
}

CUresult add_copy_in(CUcontext c, CUgraph gr, CUdeviceptr to, CUdeviceptr from, CUgraphNode* n) {
  const CUDA_MEMCPY3D q = copy_d2d(to, from, kCopied);
  return cuGraphAddMemcpyNode(n, gr, nullptr, 0, &q, c);
}

// Instantiates, launches, waits, and records the word.
void rec_run(Rec& r, const std::string& key, CUgraph gr, CUstream s, const Words& at) {
  CUgraphExec x = nullptr;
  if (r.k(key + ".instantiate", cuGraphInstantiate(&x, gr, 0)) != CUDA_SUCCESS) return;
  r.k(key + ".launch", cuGraphLaunch(x, s));
  const CUresult end = cuStreamSynchronize(s);
  if (end != CUDA_SUCCESS)
    r.k(key + ".then", end);
  else
    r.k(key + ".word", get_word(at.owner, at.at));
  cuGraphExecDestroy(x);
}

void set_nodes(Rec& r, Reached::State state) {
  const SecondDevice device1;
  const Stream s(NB);
  const Reached reached(state, device1);
  uint32_t value = 10;
  const auto in = [&](const std::string& key, CUcontext c, CUstream run_in) {
    Graph gr;
    CUgraphNode n = nullptr;
    if (r.k(key, add_set_in(c, gr, reached.p, ++value, &n)) == CUDA_SUCCESS)
      rec_run(r, key, gr, run_in, {reached.owner, reached.p});
  };
  in("far_context", device1.ctx, s);
  in("far_context_far_stream", device1.ctx, device1.s);
  in("near_context", g.ctx, s);
  in("near_context_far_stream", g.ctx, device1.s);
}

void copy_nodes(Rec& r, Reached::State state) {
  const SecondDevice device1;
  const Stream s(NB);
  const Reached reached(state, device1);
  const CUdeviceptr f = reached.p, n = g.dbuf;
  uint32_t value = 20;
  const auto in = [&](const std::string& key, CUcontext c, CUstream run_in, bool out) {
    const Words there{reached.owner, f}, here{g.ctx, n};
    const Words &to = out ? there : here, &from = out ? here : there;
    put_words(from.owner, from.at, ++value);
    put_words(to.owner, to.at, 0);
    Graph gr;
    CUgraphNode node = nullptr;
    const std::string k = key + (out ? ".to" : ".from");
    if (r.k(k, add_copy_in(c, gr, to.at, from.at, &node)) == CUDA_SUCCESS)
      rec_run(r, k, gr, run_in, to);
  };
  for (const bool out : {false, true}) {
    in("far_context", device1.ctx, s, out);
    in("near_context", g.ctx, s, out);
    in("near_context_far_stream", g.ctx, device1.s, out);
  }
}

}  // namespace

void two_graphs_cases() {
  for (const auto& [state, name] : Reached::all) {
    using enum Reached::State;
    if (state != plain && state != plain_peer && state != pool && state != pool_peer &&
        state != pool_readwrite)
      continue;
    add("two.set_nodes." + std::string(name), SECOND_DEVICE | ISO,
        [state = state](Rec& r) { set_nodes(r, state); });
    add("two.copy_nodes." + std::string(name), SECOND_DEVICE | ISO,
        [state = state](Rec& r) { copy_nodes(r, state); });
  }
  add("two.set_node_context", SECOND_DEVICE, [](Rec& r) {
    // Which changes an executable accepts for a node of another context, and of another device's
    // memory.
    const SecondDevice device1;
    const Stream s(NB);
    Graph gr;
    CUgraphNode n = nullptr;
    OK(add_set_in(g.ctx, gr, g.dbuf, 1, &n));
    const Exec x(gr);
    const auto far_set = memset_params(device1.mem, 2, 16), near_set = memset_params(g.dbuf, 3, 16);
    r.k("far_memory_far_context", cuGraphExecMemsetNodeSetParams(x, n, &far_set, device1.ctx));
    r.k("far_memory_near_context", cuGraphExecMemsetNodeSetParams(x, n, &far_set, g.ctx));
    r.k("near_memory_far_context", cuGraphExecMemsetNodeSetParams(x, n, &near_set, device1.ctx));
    r.k("near_memory_near_context", cuGraphExecMemsetNodeSetParams(x, n, &near_set, g.ctx));
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("word", get_word(g.ctx, g.dbuf));
    Graph other;
    CUgraphNode m = nullptr;
    OK(add_set_in(device1.ctx, other, device1.mem, 4, &m));
    CUgraphExecUpdateResultInfo info{};
    r.k("update", cuGraphExecUpdate(x, other, &info));
    r.k("update.result", info.result);
    r.k("graph_set", cuGraphMemsetNodeSetParams(n, &far_set));
  });
  add("two.copy_node_context", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    Graph gr;
    CUgraphNode n = nullptr;
    OK(add_copy_in(g.ctx, gr, g.dbuf, g.dbuf + 4096, &n));
    const Exec x(gr);
    put_words(device1.ctx, device1.mem, 8);
    put_words(g.ctx, g.dbuf, 0);
    const CUDA_MEMCPY3D in = copy_d2d(g.dbuf, device1.mem, kCopied),
                        near = copy_d2d(g.dbuf, g.dbuf + 4096, kCopied),
                        within = copy_d2d(device1.mem + 4096, device1.mem, kCopied);
    r.k("within_far", cuGraphExecMemcpyNodeSetParams(x, n, &within, device1.ctx));
    r.k("from_far_far_context", cuGraphExecMemcpyNodeSetParams(x, n, &in, device1.ctx));
    r.k("near_far_context", cuGraphExecMemcpyNodeSetParams(x, n, &near, device1.ctx));
    r.k("from_far_near_context", cuGraphExecMemcpyNodeSetParams(x, n, &in, g.ctx));
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("word", get_word(g.ctx, g.dbuf));
    Graph other;
    CUgraphNode m = nullptr;
    OK(add_copy_in(g.ctx, other, g.dbuf, device1.mem, &m));
    CUgraphExecUpdateResultInfo info{};
    r.k("update", cuGraphExecUpdate(x, other, &info));
    r.k("update.result", info.result);
  });
  add("two.graph_of_both", SECOND_DEVICE, [](Rec& r) {
    // A memset of device 1's memory, a copy to device 0 after it, a label behind; updated from
    // another such graph.
    const SecondDevice device1;
    const Stream s(NB);
    Trace& t = new_trace();
    const auto build = [&](CUgraph gr, uint32_t value) {
      CUgraphNode set = nullptr, copy = nullptr;
      OK(add_set_in(device1.ctx, gr, device1.mem, value, &set));
      const CUDA_MEMCPY3D q = copy_d2d(g.dbuf, device1.mem, kCopied);
      r.k("add_copy", cuGraphAddMemcpyNode(&copy, gr, &set, 1, &q, g.ctx));
      add_label(gr, {copy ? copy : set}, "x", &t);
    };
    Graph one, two;
    build(one, 31);
    build(two, 32);
    const Exec x(one);
    r.k("launch", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("word", get_word(g.ctx, g.dbuf));
    CUgraphExecUpdateResultInfo info{};
    r.k("update", cuGraphExecUpdate(x, two, &info));
    r.k("update.result", info.result);
    r.k("launch_far", cuGraphLaunch(x, device1.s));
    OK(cuStreamSynchronize(device1.s));
    r.k("word_then", get_word(g.ctx, g.dbuf));
    r.k("ran", t.str());
  });
  add("two.memop_nodes", SECOND_DEVICE, [](Rec& r) {
    // Nodes of device 1's context write words of pinned memory.
    const SecondDevice device1;
    const Stream s(NB);
    Cell c = new_cell();
    CUstreamBatchMemOpParams op = op_write(c.d, 6);
    CUDA_BATCH_MEM_OP_NODE_PARAMS p{};
    p.ctx = device1.ctx;
    p.count = 1;
    p.paramArray = &op;
    Graph gr;
    CUgraphNode n = nullptr;
    r.k("add", cuGraphAddBatchMemOpNode(&n, gr, nullptr, 0, &p));
    const Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    r.k("written", late(c, 6));
    c.set(0);
    r.k("launch_far", cuGraphLaunch(x, device1.s));
    r.k("written_far", late(c, 6));
    p.ctx = g.ctx;
    r.k("set_near_context", cuGraphExecBatchMemOpNodeSetParams(x, n, &p));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.event_nodes", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    CUevent there = nullptr;
    {
      const Current current(device1.ctx);
      OK(cuEventCreate(&there, CU_EVENT_DISABLE_TIMING));
    }
    Graph gr;
    CUgraphNode n = nullptr, m = nullptr;
    r.k("record", cuGraphAddEventRecordNode(&n, gr, nullptr, 0, there));
    r.k("wait", cuGraphAddEventWaitNode(&m, gr, nullptr, 0, there));
    CUgraphExec x = nullptr;
    if (r.k("instantiate", cuGraphInstantiate(&x, gr, 0)) == CUDA_SUCCESS) {
      r.k("launch", cuGraphLaunch(x, s));
      r.k("sync", cuStreamSynchronize(s));
      r.k("launch_far", cuGraphLaunch(x, device1.s));
      r.k("sync_far", cuStreamSynchronize(device1.s));
      r.k("query", cuEventQuery(there));
      cuGraphExecDestroy(x);
    }
    OK(cuEventDestroy(there));
  });
  add("two.exec_launched_and_destroyed_from_far", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    Graph gr;
    add_memset(gr, {}, g.dbuf, 41, 16);
    CUgraphExec x = nullptr;
    OK(cuGraphInstantiate(&x, gr, 0));
    const Current current(device1.ctx);
    r.k("launch", cuGraphLaunch(x, device1.s));
    r.k("sync", cuStreamSynchronize(device1.s));
    r.k("word", get_word(g.ctx, g.dbuf));
    r.k("launch_legacy", cuGraphLaunch(x, nullptr));
    r.k("sync_legacy", cuStreamSynchronize(nullptr));
    r.k("destroy", cuGraphExecDestroy(x));
  });
}

}  // namespace weir::conformance
