// SPDX-License-Identifier: Apache-2.0
// cases/memory/batch_context.cpp - the context that must be current for batched copies, and for
// calls on managed memory.
#include "cases/memory/managed_memory.hpp"
#include "cases/memory/ranges.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

// Makes each of these calls on a stream of the first context.
void rec_calls(Rec& r, CUdeviceptr managed, CUstream s) {
  CUdeviceptr to = g.dbuf, from = reinterpret_cast<CUdeviceptr>(g.pin), range = managed;
  size_t size = 64, first = 0;
  CUmemcpyAttributes how;
  memset(&how, 0, sizeof how);
  how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CUmemLocation here = place(CU_MEM_LOCATION_TYPE_DEVICE, g.dev);
  r.k("copies", cuMemcpyBatchAsync(&to, &from, &size, 1, &how, &first, 1, s));
  r.k("copies_count0", cuMemcpyBatchAsync(&to, &from, &size, 0, &how, &first, 1, s));
  r.k("batch_prefetch", cuMemPrefetchBatchAsync(&range, &size, 1, &here, &first, 1, 0, s));
  r.k("batch_discard", cuMemDiscardBatchAsync(&range, &size, 1, 0, s));
  r.k("batch_both", cuMemDiscardAndPrefetchBatchAsync(&range, &size, 1, &here, &first, 1, 0, s));
  r.k("prefetch", cuMemPrefetchAsync(managed, 4096, here, 0, s));
  r.k("advise", cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  r.k("attach", cuStreamAttachMemAsync(s, managed, 0, CU_MEM_ATTACH_GLOBAL));
}

}  // namespace

void batch_context_cases() {
  add("batch.no_context", ISO, [](Rec& r) {
    Managed m;
    Stream s(NB);
    OK(cuCtxSetCurrent(nullptr));
    rec_calls(r, m, s);
    OK(cuCtxSetCurrent(g.ctx));
    OK(cuStreamSynchronize(s));
  });
  add("batch.other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Managed m;
    Stream s(NB);
    {
      Current cur(o);
      rec_calls(r, m, s);
    }
    OK(cuStreamSynchronize(s));
  });
}

}  // namespace weir::conformance
