// SPDX-License-Identifier: Apache-2.0
// cases/sync/memop_batch.cpp - batches of stream memory operations, also in a capture.
#include "probe/probe.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace weir::conformance {
namespace {

CUstreamBatchMemOpParams op_write64(CUdeviceptr a, uint64_t v) {
  CUstreamBatchMemOpParams p;
  memset(&p, 0, sizeof p);
  p.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  p.writeValue.address = a;
  p.writeValue.value64 = v;
  return p;
}

CUstreamBatchMemOpParams op_wait64(CUdeviceptr a, uint64_t v) {
  CUstreamBatchMemOpParams p;
  memset(&p, 0, sizeof p);
  p.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  p.waitValue.address = a;
  p.waitValue.value64 = v;
  return p;
}

CUstreamBatchMemOpParams op_barrier(unsigned flags) {
  CUstreamBatchMemOpParams p;
  memset(&p, 0, sizeof p);
  p.memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
  p.memoryBarrier.flags = flags;
  return p;
}

CUstreamBatchMemOpParams op_flush() {
  CUstreamBatchMemOpParams p;
  memset(&p, 0, sizeof p);
  p.flushRemoteWrites.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
  return p;
}

}  // namespace

void memop_batch_cases() {
  add("memop.batch_in_order", [](Rec& r) {
    // The write before each wait satisfies it, in both widths.
    Stream s(NB);
    Cell a = new_cell(), b = new_cell();
    on_release([a, b] { a.set64(~0ull >> 1), b.set64(~0ull >> 1); });
    CUstreamBatchMemOpParams ops[] = {
        op_write(a.d, 3),           op_wait(a.d, 3), op_write64(b.d, 1ull << 40),
        op_wait64(b.d, 1ull << 40), op_barrier(0),   op_write(a.d, 4)};
    r.k("batch", cuStreamBatchMemOp(s, 6, ops, 0));
    r.k("sync", cuStreamSynchronize(s));
    r.k("a", a.get());
    r.k("b", b.get64() == (1ull << 40));
  });
  add("memop.batch_counts", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell();
    std::vector<CUstreamBatchMemOpParams> ops(300, op_write(a.d, 1));
    for (unsigned n : {0u, 1u, 2u, 254u, 255u, 256u, 257u, 300u}) {
      r.k("n" + std::to_string(n), cuStreamBatchMemOp(s, n, ops.data(), 0));
    }
    std::vector<CUstreamBatchMemOpParams> waits(255, op_wait(a.d, 0));
    r.k("waits255", cuStreamBatchMemOp(s, 255, waits.data(), 0));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.batch_unknown", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell();
    for (int op : {0, 7, 8, 9, -1}) {
      CUstreamBatchMemOpParams x = op_write(a.d, 1);
      x.operation = static_cast<CUstreamBatchMemOpType>(op);
      r.k("op" + std::to_string(op), cuStreamBatchMemOp(s, 1, &x, 0));
    }
    for (unsigned f : {0u, 1u, 2u, 3u, 0x80000000u}) {
      CUstreamBatchMemOpParams x = op_barrier(f);
      r.k("barrier" + std::to_string(f), cuStreamBatchMemOp(s, 1, &x, 0));
    }
    for (unsigned f : {1u, 2u, 0x80000000u, 0xffffffffu}) {
      CUstreamBatchMemOpParams x = op_write(a.d, 1);
      r.k("flags" + std::to_string(f), cuStreamBatchMemOp(s, 1, &x, f));
    }
    r.k("sync", cuStreamSynchronize(s));
    r.k("nothing_written", a.get());
  });
  add("memop.batch_operation_flags", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell(5);
    for (unsigned f : {0u, 1u, 2u, 3u, 4u, 0x40000000u, 0x80000000u}) {
      CUstreamBatchMemOpParams w = op_wait(a.d, 5, f), x = op_write(a.d, 5, f);
      r.k("wait" + std::to_string(f), cuStreamBatchMemOp(s, 1, &w, 0));
      r.k("write" + std::to_string(f), cuStreamBatchMemOp(s, 1, &x, 0));
    }
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.batch_bad_last", [](Rec& r) {
    // whether any operation of a batch with an invalid one takes effect
    Stream s(NB);
    Cell a = new_cell();
    CUstreamBatchMemOpParams unknown = op_write(a.d, 1);
    unknown.operation = static_cast<CUstreamBatchMemOpType>(99);
    const std::pair<const char*, CUstreamBatchMemOpParams> bad[] = {
        {"flush", op_flush()},
        {"unknown", unknown},
        {"null", op_write(0, 1)},
        {"misaligned64", op_write64(a.d + 4, 1)},
        {"wait_flags", op_wait(a.d, 0, 8)},
        {"barrier", op_barrier(7)}};
    for (auto& [n, x] : bad) {
      a.set64(0);
      CUstreamBatchMemOpParams ops[2] = {op_write(a.d, 77), x};
      r.k(n, cuStreamBatchMemOp(s, 2, ops, 0));
      OK(cuStreamSynchronize(s));
      r.k(std::string(n) + ".first_done", a.get() == 77);
    }
  });
  add("memop.batch_barriers_only", [](Rec& r) {
    Stream s(NB);
    Event e;
    CUstreamBatchMemOpParams ops[3] = {op_barrier(0), op_barrier(1), op_barrier(0)};
    r.k("batch", cuStreamBatchMemOp(s, 3, ops, 0));
    OK(cuEventRecord(e, s));
    r.k("sync", cuEventSynchronize(e));
  });
  add("memop.batch_default_streams", [](Rec& r) {
    Cell a = new_cell();
    CUstreamBatchMemOpParams op = op_write(a.d, 1);
    r.k("null", cuStreamBatchMemOp(nullptr, 1, &op, 0));
    r.k("legacy", cuStreamBatchMemOp(LEGACY, 1, &op, 0));
    r.k("per_thread", cuStreamBatchMemOp(PER_THREAD, 1, &op, 0));
    r.k("sync", cuCtxSynchronize());
  });
  add("memop.captured_kinds", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell(5), b = new_cell();
    begin(s);
    r.k("wait32", cuStreamWaitValue32(s, a.d, 5, CU_STREAM_WAIT_VALUE_EQ));
    r.k("write64", cuStreamWriteValue64(s, b.d, 1ull << 40, 0));
    CUstreamBatchMemOpParams ops[3] = {op_write(a.d, 6), op_barrier(0), op_wait64(b.d, 1)};
    r.k("batch", cuStreamBatchMemOp(s, 3, ops, 0));
    r.k("batch0", cuStreamBatchMemOp(s, 0, ops, 0));
    Graph gr(end_ok(s));
    r.k("graph", describe(gr));
    Nodes nodes = nodes_of(gr);
    for (size_t i = 0; i < nodes.size(); ++i) {
      CUDA_BATCH_MEM_OP_NODE_PARAMS p;
      memset(&p, 0, sizeof p);
      r.k("get" + std::to_string(i), cuGraphBatchMemOpNodeGetParams(nodes[i], &p));
      r.k("count" + std::to_string(i), p.count);
      r.k("flags" + std::to_string(i), p.flags);
      if (p.paramArray && p.count) {
        r.k("op" + std::to_string(i), static_cast<int>(p.paramArray[0].operation));
        r.k("op_flags" + std::to_string(i), p.paramArray[0].waitValue.flags);
      }
    }
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("a", a.get());
    r.k("b", b.get64() == (1ull << 40));
  });
  add("memop.captured_bad", ISO, [](Rec& r) {
    // which errors invalidate a capture
    const std::pair<const char*, CUresult (*)(CUstream, Cell)> bad[] = {
        {"null", [](CUstream s, Cell) { return cuStreamWriteValue32(s, 0, 1, 0); }},
        {"misaligned", [](CUstream s, Cell c) { return cuStreamWriteValue32(s, c.d + 1, 1, 0); }},
        {"flags", [](CUstream s, Cell c) { return cuStreamWaitValue32(s, c.d, 1, 8); }},
        {"flush_flag",
         [](CUstream s, Cell c) {
           return cuStreamWaitValue32(s, c.d, 1, CU_STREAM_WAIT_VALUE_FLUSH);
         }},
        {"pageable",
         [](CUstream s, Cell) {
           return cuStreamWriteValue32(s, reinterpret_cast<CUdeviceptr>(g.page), 1, 0);
         }},
        {"batch_unknown",
         [](CUstream s, Cell c) {
           CUstreamBatchMemOpParams x = op_write(c.d, 1);
           x.operation = static_cast<CUstreamBatchMemOpType>(99);
           return cuStreamBatchMemOp(s, 1, &x, 0);
         }},
        {"batch_flags",
         [](CUstream s, Cell c) {
           CUstreamBatchMemOpParams x = op_write(c.d, 1);
           return cuStreamBatchMemOp(s, 1, &x, 1);
         }},
        {"batch_256",
         [](CUstream s, Cell c) {
           std::vector<CUstreamBatchMemOpParams> ops(256, op_write(c.d, 1));
           return cuStreamBatchMemOp(s, 256, ops.data(), 0);
         }},
        {"batch_flush",
         [](CUstream s, Cell) {
           CUstreamBatchMemOpParams x = op_flush();
           return cuStreamBatchMemOp(s, 1, &x, 0);
         }},
        {"batch_barrier", [](CUstream s, Cell) {
           CUstreamBatchMemOpParams x = op_barrier(0);
           return cuStreamBatchMemOp(s, 1, &x, 0);
         }}};
    for (auto& [n, f] : bad) {
      Stream s(NB);
      begin(s);
      r.k(n, f(s, new_cell()));
      r.k(std::string(n) + ".status", capture_status(s));
      rec_end(r, std::string(n) + ".end", s);
    }
  });
  add("memop.captured_legacy", ISO, [](Rec& r) {
    Stream s(BL);
    Cell c = new_cell();
    begin(s, RELAXED);
    r.k("write", cuStreamWriteValue32(nullptr, c.d, 1, 0));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
