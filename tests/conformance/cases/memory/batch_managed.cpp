// SPDX-License-Identifier: Apache-2.0
// cases/memory/batch_managed.cpp - batches that prefetch or discard managed memory.
#include "cases/memory/managed_memory.hpp"
#include "cases/memory/ranges.hpp"

namespace weir::conformance {
namespace {

// Two ranges of managed memory and one location for both.
struct Ranges {
  Managed one, two;
  CUdeviceptr at[2] = {one, two};
  size_t size[2] = {one.n, two.n};
  CUmemLocation where[2] = {place(CU_MEM_LOCATION_TYPE_DEVICE, g.dev),
                            place(CU_MEM_LOCATION_TYPE_HOST)};
  size_t first[2] = {0, 1};

  CUresult prefetch(CUstream s, size_t count = 2, size_t places = 1, unsigned long long flags = 0) {
    return cuMemPrefetchBatchAsync(at, size, count, where, first, places, flags, s);
  }
  CUresult discard(CUstream s, size_t count = 2, unsigned long long flags = 0) {
    return cuMemDiscardBatchAsync(at, size, count, flags, s);
  }
  CUresult both(CUstream s, size_t count = 2, size_t places = 1, unsigned long long flags = 0) {
    return cuMemDiscardAndPrefetchBatchAsync(at, size, count, where, first, places, flags, s);
  }
};

}  // namespace

void batch_managed_cases() {
  add("batch.prefetch", [](Rec& r) {
    Stream s(NB);
    Ranges m;
    r.k("one_place", m.prefetch(s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "two", m.two, m.two.n);
    r.k("two_places", m.prefetch(s, 2, 2));
    OK(cuStreamSynchronize(s));
    rec_range(r, "two_then", m.two, m.two.n);
    r.k("null_stream", m.prefetch(nullptr));
    r.k("legacy", m.prefetch(LEGACY));
    r.k("per_thread", m.prefetch(PER_THREAD));
    r.k("count0", m.prefetch(s, 0));
    r.k("places0", m.prefetch(s, 2, 0));
    r.k("places_over_count", m.prefetch(s, 1, 2));
    r.k("flags1", m.prefetch(s, 2, 1, 1));
    OK(cuCtxSynchronize());
  });
  add("batch.prefetch_errors", [](Rec& r) {
    Stream s(NB);
    Ranges m;
    auto whole = [&](auto at, auto size, auto where, auto first) {
      return cuMemPrefetchBatchAsync(at, size, 2, where, first, 1, 0, s);
    };
    r.k("null_addresses", whole(nullptr, m.size, m.where, m.first));
    r.k("null_sizes", whole(m.at, nullptr, m.where, m.first));
    r.k("null_places", whole(m.at, m.size, nullptr, m.first));
    r.k("null_indices", whole(m.at, m.size, m.where, nullptr));
    m.first[0] = 1;
    r.k("first_index_1", m.prefetch(s));
    m.first[0] = 0;
    m.first[1] = 0;
    r.k("index_not_rising", m.prefetch(s, 2, 2));
    m.first[1] = 2;
    r.k("index_beyond", m.prefetch(s, 2, 2));
    m.size[1] = 0;
    r.k("size0", m.prefetch(s));
    m.size[1] = m.two.n + (4 << 20);
    r.k("beyond", m.prefetch(s));
    m.size[1] = m.two.n;
    m.where[0].id = 99;
    r.k("d99", m.prefetch(s));
    m.where[0] = place(CU_MEM_LOCATION_TYPE_INVALID);
    r.k("nowhere", m.prefetch(s));
    m.where[0] = m.where[1];
    m.at[1] = g.dbuf;
    m.size[1] = 4096;
    r.k("device_memory", m.prefetch(s));
    OK(cuCtxSynchronize());
  });
  add("batch.discard", [](Rec& r) {
    Stream s(NB);
    Ranges m;
    r.k("two", m.discard(s));
    r.k("null_stream", m.discard(nullptr));
    r.k("legacy", m.discard(LEGACY));
    r.k("per_thread", m.discard(PER_THREAD));
    r.k("count0", m.discard(s, 0));
    r.k("flags1", m.discard(s, 2, 1));
    r.k("null_addresses", cuMemDiscardBatchAsync(nullptr, m.size, 2, 0, s));
    r.k("null_sizes", cuMemDiscardBatchAsync(m.at, nullptr, 2, 0, s));
    m.at[0] = m.one + 100;
    m.size[0] = 10;
    r.k("unaligned", m.discard(s));
    m.size[0] = 0;
    r.k("size0", m.discard(s));
    m.at[0] = g.dbuf;
    m.size[0] = 4096;
    r.k("device_memory", m.discard(s));
    OK(cuCtxSynchronize());
    OK(cuMemsetD8(m.two, 5, 16));
    r.k("written_after", get_byte(m.two));
  });
  add("batch.discard_and_prefetch", [](Rec& r) {
    Stream s(NB);
    Ranges m;
    r.k("one_place", m.both(s));
    OK(cuStreamSynchronize(s));
    rec_range(r, "two", m.two, m.two.n);
    r.k("two_places", m.both(s, 2, 2));
    r.k("null_stream", m.both(nullptr));
    r.k("count0", m.both(s, 0));
    r.k("places0", m.both(s, 2, 0));
    r.k("flags1", m.both(s, 2, 1, 1));
    m.where[0].id = 99;
    r.k("d99", m.both(s));
    m.where[0] = m.where[1];
    m.at[1] = g.dbuf;
    m.size[1] = 4096;
    r.k("device_memory", m.both(s));
    OK(cuCtxSynchronize());
  });
  add("batch.managed_captured", [](Rec& r) {
    Stream s(NB);
    Ranges m;
    begin(s);
    r.k("prefetch", m.prefetch(s));
    r.k("prefetch_status", capture_status(s));
    rec_end(r, "prefetch_end", s);
    begin(s);
    r.k("discard", m.discard(s));
    r.k("discard_status", capture_status(s));
    rec_end(r, "discard_end", s);
    begin(s);
    r.k("both", m.both(s));
    r.k("both_status", capture_status(s));
    rec_end(r, "both_end", s);
  });
}

}  // namespace weir::conformance
