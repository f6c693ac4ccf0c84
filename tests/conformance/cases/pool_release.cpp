// cases/pool_release.cpp - when a pool gives memory back to the system: thresholds, trimming, which calls do it.
#include "cases/pools.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

constexpr size_t kMiB = 1 << 20;

unsigned long long reserved_mib(CUmemoryPool q) { return pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) / kMiB; }

// A pool with threshold 0, all of it freed in s, and the free complete without a call that waits. What does `call` do?
void rec_call(Rec& r, const std::string& key,
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
  add("pool.released_by_stream_sync",
      [](Rec& r) { rec_call(r, "call", [](CUstream s, CUevent, CUmemoryPool) { return cuStreamSynchronize(s); }); });
  add("pool.released_by_stream_query",
      [](Rec& r) { rec_call(r, "call", [](CUstream s, CUevent, CUmemoryPool) { return cuStreamQuery(s); }); });
  add("pool.released_by_event_sync",
      [](Rec& r) { rec_call(r, "call", [](CUstream, CUevent e, CUmemoryPool) { return cuEventSynchronize(e); }); });
  add("pool.released_by_event_query",
      [](Rec& r) { rec_call(r, "call", [](CUstream, CUevent e, CUmemoryPool) { return cuEventQuery(e); }); });
  add("pool.released_by_context_sync",
      [](Rec& r) { rec_call(r, "call", [](CUstream, CUevent, CUmemoryPool) { return cuCtxSynchronize(); }); });
  add("pool.released_by_other_stream_sync", [](Rec& r) {
    rec_call(r, "call", [](CUstream, CUevent, CUmemoryPool) {
      Stream t(NB);
      return cuStreamSynchronize(t);
    });
  });
  add("pool.released_by_copy", [](Rec& r) {
    rec_call(r, "call", [](CUstream, CUevent, CUmemoryPool) { return cuMemcpyDtoH(g.page, g.dbuf, 64); });
  });
  add("pool.released_by_free", [](Rec& r) {
    rec_call(r, "call", [](CUstream, CUevent, CUmemoryPool) {
      CUdeviceptr p = 0;
      OK(cuMemAlloc(&p, 4096));
      return cuMemFree(p);
    });
  });
  add("pool.released_by_trim",
      [](Rec& r) { rec_call(r, "call", [](CUstream, CUevent, CUmemoryPool q) { return cuMemPoolTrimTo(q, 0); }); });
  add("pool.released_by_threshold", [](Rec& r) {
    rec_call(r, "call", [](CUstream, CUevent, CUmemoryPool q) {
      cuuint64_t zero = 0;
      return cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero);
    });
  });
  add("pool.released_by_stream_destroy", [](Rec& r) {
    rec_call(r, "call", [](CUstream, CUevent, CUmemoryPool) {
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
    // Three reservations; what a synchronization leaves of them.
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
    // Parts of a reservation that are free are not given back, unless the driver can.
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
    // Threshold 0, one block of a reservation still in use.
    Pool q;
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, 20 * kMiB, s), b = pool_alloc(q, 20 * kMiB, s), c = pool_alloc(q, kMiB, s);
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
}

}  // namespace weir::conformance
