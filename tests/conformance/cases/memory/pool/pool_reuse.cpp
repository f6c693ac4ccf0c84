// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_reuse.cpp - which stream gets a freed block of a pool, for each reuse
// policy.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

constexpr size_t kBlock = 1 << 20;

const std::pair<const char*, unsigned> kPolicies[] = {{"none", NONE},
                                                      {"follow", FOLLOW},
                                                      {"opportunistic", OPPORTUNISTIC},
                                                      {"internal", INTERNAL},
                                                      {"all", ALL}};

// Frees a block in s; `between` may order t behind it; then allocates in t. Records whether t gets
// the block, and whether t waits for it.
void rec_reuse(Rec& r, const std::string& key, unsigned policies, size_t bytes, bool held,
               const std::function<void(CUstream s, CUstream t)>& between) {
  Pool q;
  set_reuse(q, policies);
  Stream s(NB), t(NB);
  const CUdeviceptr a = pool_alloc(q, bytes, s);
  OK(cuStreamSynchronize(s));
  ValueGate v;
  if (held) v.arm(s);
  OK(cuMemFreeAsync(a, s));
  between(s, t);
  CUdeviceptr b = 0;
  r.k(key, cuMemAllocFromPoolAsync(&b, bytes, q, t));
  r.k(key + ".same", a == b);
  Cell m = new_cell();
  mark(t, m);
  r.k(key + ".t_held", !early(m));
  v.open();
  r.k(key + ".t_done", late(m));
  if (b) OK(cuMemFreeAsync(b, t));
  OK(cuStreamSynchronize(s));
  OK(cuStreamSynchronize(t));
}

}  // namespace

void pool_reuse_cases() {
  add("pool.reuse_in_the_stream", [](Rec& r) {
    for (auto& [n, policies] : kPolicies) {
      Pool q;
      set_reuse(q, policies);
      Stream s(NB);
      const CUdeviceptr a = pool_alloc(q, kBlock, s);
      ValueGate v;
      v.arm(s);
      OK(cuMemFreeAsync(a, s));
      const CUdeviceptr b = pool_alloc(q, kBlock, s);
      r.k(n, a == b);
      v.open();
      OK(cuMemFreeAsync(b, s));
      OK(cuStreamSynchronize(s));
    }
  });
  add("pool.reuse_unordered", [](Rec& r) {
    for (auto& [n, policies] : kPolicies)
      rec_reuse(r, n, policies, kBlock, true, [](CUstream, CUstream) {});
  });
  add("pool.reuse_unordered_big", [](Rec& r) {
    // No other memory of the pool is large enough.
    for (auto& [n, policies] : kPolicies)
      rec_reuse(r, n, policies, 32 << 20, true, [](CUstream, CUstream) {});
  });
  add("pool.reuse_after_event", [](Rec& r) {
    for (auto& [n, policies] : kPolicies) {
      Event e;
      rec_reuse(r, n, policies, kBlock, true, [&](CUstream s, CUstream t) {
        OK(cuEventRecord(e, s));
        OK(cuStreamWaitEvent(t, e, 0));
      });
    }
  });
  add("pool.reuse_event_before_free", [](Rec& r) {
    // The event was recorded before the free, so it does not cover it.
    Pool q;
    set_reuse(q, FOLLOW);
    Stream s(NB), t(NB);
    Event e;
    const CUdeviceptr a = pool_alloc(q, kBlock, s);
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(e, s));
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamWaitEvent(t, e, 0));
    const CUdeviceptr b = pool_alloc(q, kBlock, t);
    r.k("same", a == b);
    v.open();
    OK(cuMemFreeAsync(b, t));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(t));
  });
  add("pool.reuse_event_chain", [](Rec& r) {
    for (auto& [n, policies] :
         {std::pair<const char*, unsigned>{"follow", FOLLOW}, {"none", NONE}}) {
      Pool q;
      set_reuse(q, policies);
      Stream s(NB), t(NB), u(NB);
      Event e, f;
      const CUdeviceptr a = pool_alloc(q, kBlock, s);
      ValueGate v;
      v.arm(s);
      OK(cuMemFreeAsync(a, s));
      OK(cuEventRecord(e, s));
      OK(cuStreamWaitEvent(t, e, 0));
      OK(cuEventRecord(f, t));
      OK(cuStreamWaitEvent(u, f, 0));
      const CUdeviceptr b = pool_alloc(q, kBlock, u);
      r.k(n, a == b);
      v.open();
      OK(cuMemFreeAsync(b, u));
      for (CUstream x : {s.s, t.s, u.s}) OK(cuStreamSynchronize(x));
    }
  });
  add("pool.reuse_later_event", [](Rec& r) {
    // More work and a second record of the event come between the free and the wait.
    Pool q;
    set_reuse(q, FOLLOW);
    Stream s(NB), t(NB);
    Event e;
    const CUdeviceptr a = pool_alloc(q, kBlock, s);
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(e, s));
    OK(cuMemFreeAsync(a, s));
    mark(s, new_cell());
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    mark(t, new_cell());
    const CUdeviceptr b = pool_alloc(q, kBlock, t);
    r.k("same", a == b);
    v.open();
    OK(cuMemFreeAsync(b, t));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(t));
  });
  add("pool.reuse_freed_by_follower", [](Rec& r) {
    // Freed in t, which waits for s; allocated again in s, which does not wait for t.
    for (auto& [n, policies] : kPolicies) {
      Pool q;
      set_reuse(q, policies);
      Stream s(NB), t(NB);
      Event e;
      const CUdeviceptr a = pool_alloc(q, kBlock, s);
      ValueGate v;
      OK(cuEventRecord(e, s));
      OK(cuStreamWaitEvent(t, e, 0));
      v.arm(t);
      OK(cuMemFreeAsync(a, t));
      const CUdeviceptr b = pool_alloc(q, kBlock, s);
      r.k(n, a == b);
      v.open();
      OK(cuMemFreeAsync(b, s));
      OK(cuStreamSynchronize(t));
      OK(cuStreamSynchronize(s));
    }
  });
  add("pool.reuse_complete", [](Rec& r) {
    // The free is complete, and the driver was not notified.
    for (auto& [n, policies] : kPolicies) {
      rec_reuse(r, n, policies, kBlock, false, [](CUstream s, CUstream) {
        Cell m = new_cell();
        mark(s, m);
        late(m);
        sleep_ms(20);
      });
    }
  });
  add("pool.reuse_synchronized", [](Rec& r) {
    // The free is complete, and the host has waited for it.
    for (auto& [n, policies] : kPolicies) {
      rec_reuse(r, n, policies, kBlock, false,
                [](CUstream s, CUstream) { OK(cuStreamSynchronize(s)); });
    }
  });
  add("pool.reuse_context_synchronized", [](Rec& r) {
    rec_reuse(r, "none", NONE, kBlock, false, [](CUstream, CUstream) { OK(cuCtxSynchronize()); });
  });
  add("pool.reuse_event_synchronized", [](Rec& r) {
    rec_reuse(r, "none", NONE, kBlock, false, [](CUstream s, CUstream) {
      Event e;
      OK(cuEventRecord(e, s));
      OK(cuEventSynchronize(e));
    });
  });
  add("pool.reuse_legacy_order", [](Rec& r) {
    // The legacy stream orders the work of blocking streams without an event.
    for (auto& [n, policies] :
         {std::pair<const char*, unsigned>{"follow", FOLLOW}, {"none", NONE}}) {
      Pool q;
      set_reuse(q, policies);
      Stream s(BL), t(BL);
      const CUdeviceptr a = pool_alloc(q, kBlock, s);
      ValueGate v;
      v.arm(s);
      OK(cuMemFreeAsync(a, s));
      const CUdeviceptr b = pool_alloc(q, kBlock, LEGACY);
      r.k(std::string(n) + ".legacy", a == b);
      OK(cuMemFreeAsync(b, LEGACY));
      const CUdeviceptr c = pool_alloc(q, kBlock, t);
      r.k(std::string(n) + ".then_blocking", c == b);
      v.open();
      OK(cuMemFreeAsync(c, t));
      OK(cuCtxSynchronize());
    }
  });
  add("pool.reuse_freed_at_once", [](Rec& r) {
    // cuMemFree: whether it frees for every stream, and at once
    for (auto& [n, policies] : kPolicies) {
      Pool q;
      set_reuse(q, policies);
      Stream s(NB), t(NB);
      const CUdeviceptr a = pool_alloc(q, kBlock, s);
      OK(cuStreamSynchronize(s));
      OK(cuMemFree(a));
      const CUdeviceptr b = pool_alloc(q, kBlock, t);
      r.k(n, a == b);
      OK(cuMemFreeAsync(b, t));
      OK(cuStreamSynchronize(t));
    }
  });
  add("pool.reuse_stream_destroyed", [](Rec& r) {
    for (auto& [n, policies] : kPolicies) {
      Pool q;
      set_reuse(q, policies);
      CUdeviceptr a = 0;
      {
        Stream s(NB);
        a = pool_alloc(q, kBlock, s);
        OK(cuMemFreeAsync(a, s));
        OK(cuStreamSynchronize(s));
      }
      Stream t(NB);
      const CUdeviceptr b = pool_alloc(q, kBlock, t);
      r.k(n, a == b);
      OK(cuMemFreeAsync(b, t));
      OK(cuStreamSynchronize(t));
    }
  });
  add("pool.reuse_by_graph_order", [](Rec& r) {
    // A launched graph that records an event makes the order.
    Pool q;
    set_reuse(q, FOLLOW);
    Stream s(NB), t(NB);
    Event e;
    begin(s);
    OK(cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    Graph gr(end_ok(s));
    Exec x(gr);
    const CUdeviceptr a = pool_alloc(q, kBlock, s);
    ValueGate v;
    v.arm(s);
    OK(cuMemFreeAsync(a, s));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamWaitEvent(t, e, 0));
    const CUdeviceptr b = pool_alloc(q, kBlock, t);
    r.k("same", a == b);
    v.open();
    OK(cuMemFreeAsync(b, t));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(t));
  });
}

}  // namespace weir::conformance
