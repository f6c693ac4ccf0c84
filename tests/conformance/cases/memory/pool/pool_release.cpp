// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_release.cpp - when a pool releases memory to the system: thresholds,
// trimming, and the calls that do it.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

#include <functional>
#include <string>
#include <utility>

namespace weir::conformance {
namespace {

unsigned long long reserved_mib(CUmemoryPool q) {
  return pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) / kMiB;
}

// Uses a pool with threshold 0 whose memory is all freed in s; the frees are complete without a
// waiting call. Records the effect of `call`.
void rec_release_by(Rec& r, const std::string& key,
                    const std::function<CUresult(CUstream s, CUevent e, CUmemoryPool q)>& call) {
  Pool q;
  Stream s(NB);
  Event e;
  const CUdeviceptr a = pool_alloc(q, kMiB, s);
  OK(cuMemFreeAsync(a, s));
  OK(cuEventRecord(e, s));
  Cell m = new_cell();
  mark(s, m);
  late(m);
  sleep_ms(20);
  r.k(key + ".before", reserved_mib(q));
  r.k(key, call(s, e, q));
  r.k(key + ".after", reserved_mib(q));
  OK(cuStreamSynchronize(s));
}

}  // namespace

void pool_release_cases() {
  add("pool.released_by_stream_sync", [](Rec& r) {
    rec_release_by(r, "call",
                   [](CUstream s, CUevent, CUmemoryPool) { return cuStreamSynchronize(s); });
  });
  add("pool.released_by_stream_query", [](Rec& r) {
    rec_release_by(r, "call", [](CUstream s, CUevent, CUmemoryPool) { return cuStreamQuery(s); });
  });
  add("pool.released_by_event_sync", [](Rec& r) {
    rec_release_by(r, "call",
                   [](CUstream, CUevent e, CUmemoryPool) { return cuEventSynchronize(e); });
  });
  add("pool.released_by_event_query", [](Rec& r) {
    rec_release_by(r, "call", [](CUstream, CUevent e, CUmemoryPool) { return cuEventQuery(e); });
  });
  add("pool.released_by_context_sync", [](Rec& r) {
    rec_release_by(r, "call", [](CUstream, CUevent, CUmemoryPool) { return cuCtxSynchronize(); });
  });
  add("pool.released_by_other_stream_sync", [](Rec& r) {
    rec_release_by(r, "call", [](CUstream, CUevent, CUmemoryPool) {
      Stream t(NB);
      return cuStreamSynchronize(t);
    });
  });
  add("pool.released_by_copy", [](Rec& r) {
    rec_release_by(r, "call", [](CUstream, CUevent, CUmemoryPool) {
      return cuMemcpyDtoH(g.page, g.dbuf, 64);
    });
  });
  add("pool.released_by_free", [](Rec& r) {
    rec_release_by(r, "call", [](CUstream, CUevent, CUmemoryPool) {
      CUdeviceptr p = 0;
      OK(cuMemAlloc(&p, 4096));
      return cuMemFree(p);
    });
  });
  add("pool.released_by_trim", [](Rec& r) {
    rec_release_by(r, "call",
                   [](CUstream, CUevent, CUmemoryPool q) { return cuMemPoolTrimTo(q, 0); });
  });
  add("pool.released_by_threshold", [](Rec& r) {
    rec_release_by(r, "call", [](CUstream, CUevent, CUmemoryPool q) {
      cuuint64_t zero = 0;
      return cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero);
    });
  });
  add("pool.released_by_stream_destroy", [](Rec& r) {
    rec_release_by(r, "call", [](CUstream, CUevent, CUmemoryPool) {
      Stream t(NB);
      return t.destroy();
    });
  });
  add("pool.freed_at_once_stays", [](Rec& r) {
    Pool q;
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, kMiB, s);
    OK(cuStreamSynchronize(s));
    OK(cuMemFree(a));
    r.k("after_free", reserved_mib(q));
    OK(cuStreamSynchronize(s));
    r.k("after_sync", reserved_mib(q));
  });
  add("pool.thresholds", [](Rec& r) {
    // Three reservations; how much of them remains after a synchronization.
    for (size_t mib : {0, 1, 31, 32, 33, 64, 65, 96, 97, 1000}) {
      Pool q;
      set_pool_u64(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, mib * kMiB);
      Stream s(NB);
      CUdeviceptr all[3];
      for (CUdeviceptr& p : all) p = pool_alloc(q, 30 * kMiB, s);
      for (CUdeviceptr p : all) OK(cuMemFreeAsync(p, s));
      r.k("t" + std::to_string(mib) + ".before", reserved_mib(q));
      OK(cuStreamSynchronize(s));
      r.k("t" + std::to_string(mib) + ".after", reserved_mib(q));
    }
  });
  add("pool.trims", [](Rec& r) {
    for (size_t mib : {0, 1, 31, 32, 33, 64, 65, 96, 97, 1000}) {
      Pool q;
      set_reuse(q, ALL);
      Stream s(NB);
      CUdeviceptr all[3];
      for (CUdeviceptr& p : all) p = pool_alloc(q, 30 * kMiB, s);
      for (CUdeviceptr p : all) OK(cuMemFreeAsync(p, s));
      OK(cuStreamSynchronize(s));
      r.k("t" + std::to_string(mib), cuMemPoolTrimTo(q, mib * kMiB));
      r.k("t" + std::to_string(mib) + ".after", reserved_mib(q));
    }
  });
  add("pool.trim_of_parts", [](Rec& r) {
    // Free parts of a reservation stay reserved, unless the driver can release them.
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB);
    CUdeviceptr all[6];
    for (CUdeviceptr& p : all) p = pool_alloc(q, 10 * kMiB, s);
    r.k("reserved", reserved_mib(q));
    for (int i : {1, 2, 4}) OK(cuMemFreeAsync(all[i], s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolTrimTo(q, 0));
    r.k("some_left", reserved_mib(q));
    OK(cuMemFreeAsync(all[0], s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolTrimTo(q, 0));
    r.k("first_three_free", reserved_mib(q));
    for (int i : {3, 5}) OK(cuMemFreeAsync(all[i], s));
    OK(cuStreamSynchronize(s));
    OK(cuMemPoolTrimTo(q, 0));
    r.k("all_free", reserved_mib(q));
  });
  add("pool.release_with_live", [](Rec& r) {
    // Threshold 0, with one block of a reservation still in use.
    Pool q;
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, 20 * kMiB, s), b = pool_alloc(q, 20 * kMiB, s),
                      c = pool_alloc(q, kMiB, s);
    r.k("three", reserved_mib(q));
    OK(cuMemFreeAsync(b, s));
    OK(cuStreamSynchronize(s));
    r.k("second_freed", reserved_mib(q));
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
    r.k("first_freed", reserved_mib(q));
    OK(cuMemFreeAsync(c, s));
    OK(cuStreamSynchronize(s));
    r.k("all_freed", reserved_mib(q));
  });
  add("pool.used_after_free_at_once", [](Rec& r) {
    // whether cuMemFree counts as a free
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB);
    auto used = [&] {
      return std::to_string(pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)) + "/" +
             std::to_string(pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH)) + "/" +
             std::to_string(reserved_mib(q));
    };
    const CUdeviceptr a = pool_alloc(q, kMiB, s), b = pool_alloc(q, 2 * kMiB, s);
    OK(cuStreamSynchronize(s));
    OK(cuMemFree(a));
    r.k("freed", used());
    OK(cuStreamSynchronize(s));
    r.k("synchronized", used());
    const CUdeviceptr c = pool_alloc(q, kMiB, s);
    r.k("same", c == a);
    r.k("again", used());
    OK(cuMemFreeAsync(c, s));
    r.k("freed_in_order", used());
    OK(cuMemFree(b));
    r.k("all_freed", used());
    OK(cuCtxSynchronize());
    r.k("context_synchronized", used());
    r.k("trim", cuMemPoolTrimTo(q, 0));
    r.k("trimmed", used());
  });
  add("pool.trimmed_after", [](Rec& r) {
    // by which calls the driver notices that a free is complete
    const std::pair<const char*, std::function<void(CUmemoryPool, CUstream, CUevent)>> all[] = {
        {"nothing", [](CUmemoryPool, CUstream, CUevent) {}},
        {"stream_query", [](CUmemoryPool, CUstream s, CUevent) { OK(cuStreamQuery(s)); }},
        {"event_query", [](CUmemoryPool, CUstream, CUevent e) { OK(cuEventQuery(e)); }},
        {"stream_sync", [](CUmemoryPool, CUstream s, CUevent) { OK(cuStreamSynchronize(s)); }},
        {"event_sync", [](CUmemoryPool, CUstream, CUevent e) { OK(cuEventSynchronize(e)); }},
        {"follower_sync",
         [](CUmemoryPool, CUstream, CUevent e) {
           Stream t(NB);
           OK(cuStreamWaitEvent(t, e, 0));
           mark(t, new_cell());
           OK(cuStreamSynchronize(t));
         }},
        {"other_stream_reuse",
         [](CUmemoryPool q, CUstream, CUevent) {
           Stream t(NB);
           const CUdeviceptr p = pool_alloc(q, kMiB, t);
           OK(cuMemFreeAsync(p, t));
           OK(cuStreamSynchronize(t));
         }},
        {"legacy_copy",
         [](CUmemoryPool, CUstream, CUevent) { OK(cuMemcpyDtoH(g.page, g.dbuf, 64)); }},
        {"stream_copy",
         [](CUmemoryPool, CUstream s, CUevent) { OK(cuMemcpyDtoHAsync(g.page, g.dbuf, 64, s)); }},
        {"stream_destroyed", [](CUmemoryPool, CUstream s, CUevent) { OK(cuStreamDestroy(s)); }}};
    for (auto& [n, call] : all) {
      Pool q;
      set_reuse(q, ALL);
      CUstream s = nullptr;
      OK(cuStreamCreate(&s, NB));
      Event e;
      const CUdeviceptr a = pool_alloc(q, kMiB, s);
      OK(cuMemFreeAsync(a, s));
      OK(cuEventRecord(e, s));
      Cell m = new_cell();
      mark(s, m);
      late(m);
      sleep_ms(20);
      call(q, s, e);
      OK(cuMemPoolTrimTo(q, 0));
      r.k(n, reserved_mib(q));
      if (std::string(n) != "stream_destroyed") cuStreamDestroy(s);
    }
  });
  add("pool.released_by_event_before_free", [](Rec& r) {
    // Synchronization with an event recorded before the free.
    Pool q;
    Stream s(NB);
    Event e;
    const CUdeviceptr a = pool_alloc(q, kMiB, s);
    OK(cuEventRecord(e, s));
    OK(cuMemFreeAsync(a, s));
    OK(cuEventSynchronize(e));
    r.k("after", reserved_mib(q));
    OK(cuStreamSynchronize(s));
    r.k("stream_synchronized", reserved_mib(q));
  });
  add("pool.released_holes", [](Rec& r) {
    // Memory in the middle is released; where larger blocks are placed then
    Pool q;
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, 32 * kMiB, s), b = pool_alloc(q, 64 * kMiB, s),
                      c = pool_alloc(q, 32 * kMiB, s);
    r.k("three", reserved_mib(q));
    OK(cuMemFreeAsync(b, s));
    OK(cuStreamSynchronize(s));
    r.k("hole", reserved_mib(q));
    const CUdeviceptr d = pool_alloc(q, 20 * kMiB, s);
    r.k("d", reserved_mib(q));
    r.k("~d.where", where(d, {{"a", a}, {"b", b}, {"c", c}}));
    const CUdeviceptr e = pool_alloc(q, 64 * kMiB, s);
    r.k("e", reserved_mib(q));
    r.k("~e.where", where(e, {{"b", b}, {"c", c}}));
    for (CUdeviceptr p : {a, c, d, e}) OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    r.k("all_freed", reserved_mib(q));
  });
}

}  // namespace weir::conformance
