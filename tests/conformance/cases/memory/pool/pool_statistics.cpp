// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_statistics.cpp - a pool's counters: memory used and reserved, current and
// maximum; the steps in which it grows.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

#include <vector>

namespace weir::conformance {
namespace {

// Returns "used/its high mark/reserved/its high mark", in bytes.
std::string counts(CUmemoryPool q) {
  std::string all;
  for (CUmemPool_attribute a :
       {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH}) {
    all += (all.empty() ? "" : "/") + std::to_string(pool_u64(q, a));
  }
  return all;
}

}  // namespace

void pool_statistics_cases() {
  add("pool.counts", [](Rec& r) {
    Pool q;
    Stream s(NB);
    r.k("fresh", counts(q));
    const CUdeviceptr a = pool_alloc(q, 1, s);
    r.k("one_byte", counts(q));
    const CUdeviceptr b = pool_alloc(q, kMiB, s);
    r.k("one_mib_more", counts(q));
    OK(cuMemFreeAsync(a, s));
    r.k("byte_freed", counts(q));
    OK(cuMemFreeAsync(b, s));
    r.k("all_freed", counts(q));
    OK(cuStreamSynchronize(s));
    r.k("synchronized", counts(q));
    const CUdeviceptr c = pool_alloc(q, 100, s);
    r.k("again", counts(q));
    set_pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
    set_pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);
    r.k("marks_reset", counts(q));
    OK(cuMemFreeAsync(c, s));
    r.k("freed_after_reset", counts(q));
    OK(cuStreamSynchronize(s));
    set_pool_u64(q, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
    set_pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);
    r.k("at_last", counts(q));
  });
  add("pool.counts_of_a_size_of_zero", [](Rec& r) {
    Pool q;
    Stream s(NB);
    CUdeviceptr p = 0x1234, other = 0x1234;
    r.k("alloc", cuMemAllocFromPoolAsync(&p, 0, q, s));
    r.k("null", p == 0);
    r.k("counts", counts(q));
    r.k("second", cuMemAllocFromPoolAsync(&other, 0, q, s));
    r.k("differs", p != other);
    r.k("free", cuMemFreeAsync(p, s));
    r.k("free_other", cuMemFreeAsync(other, s));
    r.k("free_again", cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    r.k("counts_after", counts(q));
  });
  add("pool.steps", [](Rec& r) {
    // The memory that a new pool reserves for one allocation, and for a second of equal size.
    const size_t sizes[] = {
        1,         512,           kMiB,      2 * kMiB,      2 * kMiB + 1, 16 * kMiB, 16 * kMiB + 1,
        31 * kMiB, 32 * kMiB - 1, 32 * kMiB, 32 * kMiB + 1, 33 * kMiB,    48 * kMiB, 64 * kMiB,
        65 * kMiB, 100 * kMiB};
    for (size_t bytes : sizes) {
      Pool q;
      Stream s(NB);
      const CUdeviceptr a = pool_alloc(q, bytes, s);
      r.k("b" + std::to_string(bytes), pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
      const CUdeviceptr b = pool_alloc(q, bytes, s);
      r.k("b" + std::to_string(bytes) + ".twice",
          pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
      OK(cuMemFreeAsync(a, s));
      OK(cuMemFreeAsync(b, s));
      OK(cuStreamSynchronize(s));
    }
  });
  add("pool.grows", [](Rec& r) {
    Pool q;
    Stream s(NB);
    std::vector<CUdeviceptr> all;
    std::string reserved;
    for (int i = 0; i < 12; i++) {
      all.push_back(pool_alloc(q, 20 * kMiB, s));
      reserved +=
          (i ? "," : "") + std::to_string(pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) / kMiB);
    }
    r.k("reserved_mib", reserved);
    reserved.clear();
    for (CUdeviceptr p : all) {
      OK(cuMemFreeAsync(p, s));
      OK(cuStreamSynchronize(s));
      reserved += (reserved.empty() ? "" : ",") +
                  std::to_string(pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) / kMiB);
    }
    r.k("shrinks_mib", reserved);
  });
  add("pool.grows_by_small_ones", [](Rec& r) {
    // A hundred blocks of one MiB.
    Pool q;
    Stream s(NB);
    std::vector<CUdeviceptr> all;
    std::string changes;
    cuuint64_t last = 0;
    for (int i = 0; i < 100; i++) {
      all.push_back(pool_alloc(q, kMiB, s));
      const cuuint64_t now = pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
      if (now != last)
        changes += (i ? "," : "") + std::to_string(i) + ":" + std::to_string(now / kMiB);
      last = now;
    }
    r.k("reserved_mib", changes);
    for (CUdeviceptr p : all) OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    r.k("after", counts(q));
  });
  add("pool.counts_behind_a_gate", [](Rec& r) {
    Pool q;
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, kMiB, s);
    OK(cuStreamSynchronize(s));
    ValueGate v;
    v.arm(s);
    OK(cuMemFreeAsync(a, s));
    r.k("freed", counts(q));
    const CUdeviceptr b = pool_alloc(q, 2 * kMiB, s);
    r.k("allocated", counts(q));
    OK(cuMemFreeAsync(b, s));
    r.k("freed_again", counts(q));
    r.k("trim", cuMemPoolTrimTo(q, 0));
    r.k("trimmed", counts(q));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("synchronized", counts(q));
  });
  add("pool.counts_of_other_thread", [](Rec& r) {
    Pool q;
    Stream s(NB);
    CUdeviceptr a = 0;
    on_thread([&] { a = pool_alloc(q, kMiB, s); });
    r.k("allocated", counts(q));
    on_thread([&] { OK(cuMemFree(a)); });
    r.k("freed", counts(q));
  });
  add("pool.max_sizes", [](Rec& r) {
    // How much of a limited size can be allocated.
    for (size_t limit : {size_t{1}, size_t{4096}, kMiB, 2 * kMiB, 3 * kMiB, 32 * kMiB, 33 * kMiB,
                         48 * kMiB, 64 * kMiB}) {
      CUmemPoolProps p = pool_props();
      p.maxSize = limit;
      CUmemoryPool q = nullptr;
      const std::string k = "max" + std::to_string(limit);
      if (r.k(k, cuMemPoolCreate(&q, &p)) != CUDA_SUCCESS) continue;
      Stream s(NB);
      for (size_t bytes :
           {size_t{1}, limit, limit + 1, 2 * kMiB, 32 * kMiB, 32 * kMiB + 1, 64 * kMiB}) {
        CUdeviceptr a = 0;
        r.k(k + "." + std::to_string(bytes), cuMemAllocFromPoolAsync(&a, bytes, q, s));
        r.k(k + "." + std::to_string(bytes) + ".reserved",
            pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
        if (a) OK(cuMemFreeAsync(a, s));
        OK(cuStreamSynchronize(s));
        OK(cuMemPoolTrimTo(q, 0));
      }
      cuMemPoolDestroy(q);
    }
  });
  add("pool.out_of_memory", [](Rec& r) {
    CUmemPoolProps p = pool_props();
    p.maxSize = 32 * kMiB;
    CUmemoryPool q = nullptr;
    OK(cuMemPoolCreate(&q, &p));
    {
      Stream s(NB), t(NB);
      CUdeviceptr a = 0, b = 0x1234;
      r.k("first", cuMemAllocFromPoolAsync(&a, 24 * kMiB, q, s));
      r.k("second", cuMemAllocFromPoolAsync(&b, 24 * kMiB, q, t));
      r.k("out_untouched", b == 0x1234);
      r.k("counts", counts(q));
      r.k("stream_lives", cuStreamSynchronize(t));
      ValueGate v;
      v.arm(s);
      OK(cuMemFreeAsync(a, s));
      b = 0;
      record_blocking(r, "while_free_is_held",
                      blocking([&] { v.open(); },
                               [&] { return cuMemAllocFromPoolAsync(&b, 24 * kMiB, q, t); }));
      r.k("same", b == a);
      Cell m = new_cell();
      mark(t, m);
      r.k("t_held", !early(m));
      v.open();
      r.k("t_done", late(m));
      if (b) OK(cuMemFreeAsync(b, t));
      OK(cuStreamSynchronize(s));
      OK(cuStreamSynchronize(t));
      int off = 0;
      OK(cuMemPoolSetAttribute(q, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &off));
      a = pool_alloc(q, 24 * kMiB, s);
      ValueGate w;
      w.arm(s);
      OK(cuMemFreeAsync(a, s));
      b = 0;
      record_blocking(r, "without_internal",
                      blocking([&] { w.open(); },
                               [&] { return cuMemAllocFromPoolAsync(&b, 24 * kMiB, q, t); }));
      w.open();
      if (b) OK(cuMemFreeAsync(b, t));
      OK(cuStreamSynchronize(s));
      OK(cuStreamSynchronize(t));
    }
    cuMemPoolDestroy(q);
  });
}

}  // namespace weir::conformance
