// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pool_layout.cpp - the addresses of blocks in a pool's memory: packing,
// splitting, merging, the choice of a free block.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

void free_all(CUstream s, std::initializer_list<CUdeviceptr> all) {
  for (CUdeviceptr p : all) OK(cuMemFreeAsync(p, s));
  OK(cuStreamSynchronize(s));
}

}  // namespace

void pool_layout_cases() {
  add("pool.layout_packing", [](Rec& r) {
    // The distance from a block of each size to the next block.
    for (size_t bytes :
         {size_t{1}, size_t{100}, size_t{511}, size_t{512}, size_t{513}, size_t{4096},
          size_t{65536}, kMiB, kMiB + 1, 2 * kMiB, 3 * kMiB, 4 * kMiB + 1}) {
      Pool q;
      set_reuse(q, ALL);
      Stream s(NB);
      const CUdeviceptr a = pool_alloc(q, bytes, s), b = pool_alloc(q, bytes, s),
                        c = pool_alloc(q, 1, s);
      r.k("~b" + std::to_string(bytes), where(b, {{"a", a}}));
      r.k("~b" + std::to_string(bytes) + ".third", where(c, {{"a", a}}));
      free_all(s, {a, b, c});
    }
  });
  add("pool.layout_start", [](Rec& r) {
    Pool q;
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, 1, s);
    r.k("~aligned_2m", (a & (2 * kMiB - 1)) == 0);
    r.k("~aligned_32m", (a & (32 * kMiB - 1)) == 0);
    free_all(s, {a});
  });
  add("pool.layout_split", [](Rec& r) {
    // whether a smaller block is at the start of a freed larger one, and another one behind it
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, 8 * kMiB, s), guard = pool_alloc(q, kMiB, s);
    OK(cuMemFreeAsync(a, s));
    const CUdeviceptr b = pool_alloc(q, kMiB, s), c = pool_alloc(q, kMiB, s),
                      d = pool_alloc(q, 7 * kMiB, s);
    r.k("~first", where(b, {{"a", a}}));
    r.k("~second", where(c, {{"a", a}}));
    r.k("~does_not_fit", where(d, {{"a", a}}));
    free_all(s, {b, c, d, guard});
  });
  add("pool.layout_join", [](Rec& r) {
    // Two freed neighbors make room for a block as large as both.
    for (bool synchronized : {false, true}) {
      const std::string k = synchronized ? "synchronized" : "in_stream";
      Pool q;
      set_reuse(q, ALL);
      Stream s(NB);
      const CUdeviceptr a = pool_alloc(q, 8 * kMiB, s), b = pool_alloc(q, 8 * kMiB, s),
                        rest = pool_alloc(q, 16 * kMiB, s);
      OK(cuMemFreeAsync(a, s));
      OK(cuMemFreeAsync(b, s));
      if (synchronized) OK(cuStreamSynchronize(s));
      const CUdeviceptr c = pool_alloc(q, 16 * kMiB, s);
      r.k("~" + k, where(c, {{"a", a}, {"b", b}}));
      r.k(k + ".reserved_mib", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) / kMiB);
      free_all(s, {c, rest});
    }
  });
  add("pool.layout_join_across_streams", [](Rec& r) {
    // Two neighbors freed in two streams.
    for (bool synchronized : {false, true}) {
      const std::string k = synchronized ? "synchronized" : "pending";
      Pool q;
      set_reuse(q, ALL);
      Stream s(NB), t(NB);
      const CUdeviceptr a = pool_alloc(q, 8 * kMiB, s), b = pool_alloc(q, 8 * kMiB, t),
                        rest = pool_alloc(q, 16 * kMiB, s);
      ValueGate v;
      if (!synchronized) v.arm(t);
      OK(cuMemFreeAsync(a, s));
      OK(cuMemFreeAsync(b, t));
      if (synchronized) OK(cuCtxSynchronize());
      const CUdeviceptr c = pool_alloc(q, 16 * kMiB, s);
      r.k("~" + k, where(c, {{"a", a}, {"b", b}}));
      r.k(k + ".reserved_mib", pool_u64(q, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) / kMiB);
      v.open();
      free_all(s, {c, rest});
      OK(cuStreamSynchronize(t));
    }
  });
  add("pool.layout_which", [](Rec& r) {
    // Free blocks of 4, 2 and 8 MiB: which one serves 2 MiB, 1 MiB, 3 MiB
    for (size_t want : {2 * kMiB, kMiB, 3 * kMiB, 8 * kMiB}) {
      Pool q;
      set_reuse(q, ALL);
      Stream s(NB);
      const CUdeviceptr four = pool_alloc(q, 4 * kMiB, s), x = pool_alloc(q, kMiB, s),
                        two = pool_alloc(q, 2 * kMiB, s), y = pool_alloc(q, kMiB, s),
                        eight = pool_alloc(q, 8 * kMiB, s), z = pool_alloc(q, kMiB, s);
      free_all(s, {four, two, eight});
      const CUdeviceptr p = pool_alloc(q, want, s);
      r.k("~w" + std::to_string(want / kMiB),
          where(p, {{"four", four}, {"two", two}, {"eight", eight}}));
      free_all(s, {p, x, y, z});
    }
  });
  add("pool.layout_order", [](Rec& r) {
    // Equal blocks, freed first, second, third: which one is reused next
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, kMiB, s), x = pool_alloc(q, kMiB, s),
                      b = pool_alloc(q, kMiB, s), y = pool_alloc(q, kMiB, s),
                      c = pool_alloc(q, kMiB, s), z = pool_alloc(q, kMiB, s);
    OK(cuMemFreeAsync(b, s));
    OK(cuMemFreeAsync(a, s));
    OK(cuMemFreeAsync(c, s));
    const CUdeviceptr one = pool_alloc(q, kMiB, s), two = pool_alloc(q, kMiB, s),
                      three = pool_alloc(q, kMiB, s);
    r.k("~first", where(one, {{"a", a}, {"b", b}, {"c", c}}));
    r.k("~second", where(two, {{"a", a}, {"b", b}, {"c", c}}));
    r.k("~third", where(three, {{"a", a}, {"b", b}, {"c", c}}));
    free_all(s, {one, two, three, x, y, z});
  });
  add("pool.layout_fresh_or_freed", [](Rec& r) {
    // A freed block, and memory that was never used: which one is used
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB);
    const CUdeviceptr a = pool_alloc(q, 2 * kMiB, s), b = pool_alloc(q, kMiB, s);
    free_all(s, {a});
    const CUdeviceptr c = pool_alloc(q, kMiB, s), d = pool_alloc(q, 4 * kMiB, s);
    r.k("~smaller", where(c, {{"a", a}, {"b", b}}));
    r.k("~larger", where(d, {{"a", a}, {"b", b}}));
    free_all(s, {b, c, d});
  });
  add("pool.layout_other_stream_fresh", [](Rec& r) {
    // Another stream allocates while the only freed block is in use: it gets memory behind it.
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB), t(NB);
    const CUdeviceptr a = pool_alloc(q, kMiB, s);
    ValueGate v;
    v.arm(s);
    OK(cuMemFreeAsync(a, s));
    const CUdeviceptr b = pool_alloc(q, kMiB, t);
    r.k("differs", a != b);
    r.k("~where", where(b, {{"a", a}}));
    v.open();
    free_all(t, {b});
    OK(cuStreamSynchronize(s));
  });
}

}  // namespace weir::conformance
