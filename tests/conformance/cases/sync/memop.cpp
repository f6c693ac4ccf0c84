// SPDX-License-Identifier: Apache-2.0
// cases/sync/memop.cpp - stream memory operations.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

// Waits in a stream with the given start value; records whether the stream is blocked, and whether
// `release` unblocks it.
void rec_wait32(Rec& r, const std::string& key, uint32_t start, uint32_t value, unsigned flags,
                uint32_t release) {
  Stream s(NB);
  Cell c = new_cell(start), m = new_cell();
  on_release([c, release] { c.set(release); });
  CUresult e = r.k(key, cuStreamWaitValue32(s, c.d, value, flags));
  if (e != CUDA_SUCCESS) return;
  mark(s, m);
  r.k(key + ".held", !early(m));
  c.set(release);
  r.k(key + ".let_go", late(m));
  if (m.get() != 1) throw Abort{"stuck"};
  OK(cuStreamSynchronize(s));
}

void rec_wait64(Rec& r, const std::string& key, uint64_t start, uint64_t value, unsigned flags,
                uint64_t release) {
  Stream s(NB);
  Cell c = new_cell(start), m = new_cell();
  on_release([c, release] { c.set64(release); });
  CUresult e = r.k(key, cuStreamWaitValue64(s, c.d, value, flags));
  if (e != CUDA_SUCCESS) return;
  mark(s, m);
  r.k(key + ".held", !early(m));
  c.set64(release);
  r.k(key + ".let_go", late(m));
  if (m.get() != 1) throw Abort{"stuck"};
  OK(cuStreamSynchronize(s));
}

}  // namespace

void memop_cases() {
  add("memop.wait_geq", [](Rec& r) {
    rec_wait32(r, "held", 0, 5, CU_STREAM_WAIT_VALUE_GEQ, 5);
    rec_wait32(r, "held_to_more", 0, 5, CU_STREAM_WAIT_VALUE_GEQ, 9);
    rec_wait32(r, "already_equal", 5, 5, CU_STREAM_WAIT_VALUE_GEQ, 5);
    rec_wait32(r, "already_more", 6, 5, CU_STREAM_WAIT_VALUE_GEQ, 6);
  });
  add("memop.wait_geq_cyclic", [](Rec& r) {
    rec_wait32(r, "zero_vs_minus_one", 0, 0xffffffffu, CU_STREAM_WAIT_VALUE_GEQ, 0);
    rec_wait32(r, "half_range", 0x80000000u, 0, CU_STREAM_WAIT_VALUE_GEQ, 1);
    rec_wait32(r, "minus_one_vs_zero", 0xffffffffu, 0, CU_STREAM_WAIT_VALUE_GEQ, 0);
  });
  add("memop.wait_eq", [](Rec& r) {
    rec_wait32(r, "held", 0, 5, CU_STREAM_WAIT_VALUE_EQ, 5);
    rec_wait32(r, "more_is_held", 6, 5, CU_STREAM_WAIT_VALUE_EQ, 5);
    rec_wait32(r, "equal", 5, 5, CU_STREAM_WAIT_VALUE_EQ, 5);
  });
  add("memop.wait_and", [](Rec& r) {
    rec_wait32(r, "held", 0x10, 0x06, CU_STREAM_WAIT_VALUE_AND, 0x04);
    rec_wait32(r, "common_bit", 0x12, 0x06, CU_STREAM_WAIT_VALUE_AND, 0x12);
  });
  add("memop.wait_nor", [](Rec& r) {
    rec_wait32(r, "all_ones", 0xffffffffu, 0, CU_STREAM_WAIT_VALUE_NOR, 0xfffffffeu);
    rec_wait32(r, "mask_fills", 0xfffffff0u, 0x0f, CU_STREAM_WAIT_VALUE_NOR, 0xffffff00u);
    rec_wait32(r, "zero_bit", 0, 0, CU_STREAM_WAIT_VALUE_NOR, 0);
  });
  add("memop.wait64", [](Rec& r) {
    rec_wait64(r, "geq", 0, 1ull << 40, CU_STREAM_WAIT_VALUE_GEQ, 1ull << 40);
    rec_wait64(r, "low_half_only", 0xffffffffull, 1ull << 40, CU_STREAM_WAIT_VALUE_GEQ, 1ull << 41);
    rec_wait64(r, "eq", 7, 8, CU_STREAM_WAIT_VALUE_EQ, 8);
    rec_wait64(r, "and", 1, 1ull << 33, CU_STREAM_WAIT_VALUE_AND, 1ull << 33);
    rec_wait64(r, "nor", ~0ull, 0, CU_STREAM_WAIT_VALUE_NOR, ~1ull);
  });
  add("memop.wait_arguments", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell(100);
    r.k("flags4", cuStreamWaitValue32(s, c.d, 1, 4));
    r.k("flags8", cuStreamWaitValue32(s, c.d, 1, 8));
    r.k("flush", cuStreamWaitValue32(s, c.d, 1, CU_STREAM_WAIT_VALUE_FLUSH));
    r.k("misaligned1", cuStreamWaitValue32(s, c.d + 1, 1, 0));
    r.k("misaligned2", cuStreamWaitValue32(s, c.d + 2, 1, 0));
    r.k("null", cuStreamWaitValue32(s, 0, 1, 0));
    r.k("misaligned64", cuStreamWaitValue64(s, c.d + 4, 0, 0));
    r.k("null64", cuStreamWaitValue64(s, 0, 1, 0));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.wait_pageable", [](Rec& r) {
    Stream s(NB);
    auto* p = reinterpret_cast<uint32_t*>(g.page);
    p[0] = 7;
    r.k("wait_pageable",
        cuStreamWaitValue32(s, reinterpret_cast<CUdeviceptr>(p), 7, CU_STREAM_WAIT_VALUE_EQ));
    r.k("write_pageable", cuStreamWriteValue32(s, reinterpret_cast<CUdeviceptr>(p), 8, 0));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("memop.write", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell(0x1111111122222222ull), b = new_cell(), m = new_cell();
    r.k("write32", cuStreamWriteValue32(s, a.d, 9, 0));
    r.k("write64", cuStreamWriteValue64(s, b.d, 1ull << 40, 0));
    r.k("no_barrier", cuStreamWriteValue32(s, m.d, 3, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    r.k("flags2", cuStreamWriteValue32(s, m.d, 4, 2));
    r.k("misaligned", cuStreamWriteValue32(s, m.d + 1, 4, 0));
    r.k("null", cuStreamWriteValue32(s, 0, 4, 0));
    r.k("misaligned64", cuStreamWriteValue64(s, m.d + 4, 4, 0));
    OK(cuStreamSynchronize(s));
    r.k("a_low", a.get());
    r.k("a_high_kept", (a.get64() >> 32) == 0x11111111u);
    r.k("b_ok", b.get64() == (1ull << 40));
    r.k("m", m.get());
  });
  add("memop.device_memory", [](Rec& r) {
    Stream s(NB), t(NB);
    DevMem d(256);
    Cell m = new_cell();
    OK(cuMemsetD32(d, 0, 4));
    OK(cuCtxSynchronize());
    CUdeviceptr p = d;
    on_release([p] { cuMemsetD32Async(p, 1, 1, PER_THREAD); });
    r.k("wait", cuStreamWaitValue32(s, d, 1, CU_STREAM_WAIT_VALUE_GEQ));
    mark(s, m);
    r.k("held", !early(m));
    r.k("write", cuStreamWriteValue32(t, d, 1, 0));
    r.k("let_go", late(m));
    OK(cuStreamSynchronize(s));
  });
  add("memop.managed_memory", [](Rec& r) {
    CUdeviceptr m = 0;
    OK(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
    *reinterpret_cast<uint32_t*>(m) = 5;
    {
      Stream s(NB);
      r.k("wait", cuStreamWaitValue32(s, m, 5, CU_STREAM_WAIT_VALUE_EQ));
      r.k("write", cuStreamWriteValue32(s, m, 6, 0));
      r.k("sync", cuStreamSynchronize(s));
    }
    cuMemFree(m);
  });
  add("memop.registered_memory", [](Rec& r) {
    alignas(4096) static unsigned char page[4096];
    memset(page, 0, sizeof page);
    OK(cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
    CUdeviceptr d = 0;
    OK(cuMemHostGetDevicePointer(&d, page, 0));
    {
      Stream s(NB);
      Cell m = new_cell();
      auto* w = reinterpret_cast<uint32_t*>(page);
      on_release([w] { __atomic_store_n(w, 1u, __ATOMIC_RELEASE); });
      r.k("wait", cuStreamWaitValue32(s, d, 1, CU_STREAM_WAIT_VALUE_GEQ));
      mark(s, m);
      r.k("held", !early(m));
      __atomic_store_n(w, 1u, __ATOMIC_RELEASE);
      r.k("let_go", late(m));
      r.k("write", cuStreamWriteValue32(s, d + 4, 44, 0));
      OK(cuStreamSynchronize(s));
      r.k("written", w[1]);
    }
    cuMemHostUnregister(page);
  });
  add("memop.stream_to_stream", [](Rec& r) {
    Stream s(NB), t(NB);
    Cell c = new_cell(), m = new_cell();
    on_release([c] { c.set(1); });
    OK(cuStreamWaitValue32(s, c.d, 1, CU_STREAM_WAIT_VALUE_GEQ));
    mark(s, m);
    r.k("held", !early(m));
    OK(cuStreamWriteValue32(t, c.d, 1, 0));
    r.k("let_go", late(m));
  });
  add("memop.order_in_stream", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell(), d = new_cell();
    Trace& t = new_trace();
    ValueGate v;
    v.arm(s);
    OK(cuStreamWriteValue32(s, c.d, 1, 0));
    r.k("write_waits_for_earlier", !early(c));
    v.open();
    r.k("written", late(c));
    OK(cuMemsetD32Async(d.d, 3, 1, s));
    OK(cuStreamWriteValue32(s, c.d, 2, 0));
    OK(hf_do(s, [&t, c, d] { t.add(std::to_string(c.get()) + "_" + std::to_string(d.get())); }));
    OK(cuStreamSynchronize(s));
    r.k("seen", t.str());
  });
  add("memop.wait_is_busy", [](Rec& r) {
    Stream s(NB);
    Event e;
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(e, s));
    r.k("stream", cuStreamQuery(s));
    r.k("event", cuEventQuery(e));
    v.open();
    OK(cuStreamSynchronize(s));
  });
  add("memop.batch", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell(), b = new_cell(), c = new_cell();
    on_release([b] { b.set(1); });
    CUstreamBatchMemOpParams ops[3] = {op_write(a.d, 1), op_wait(b.d, 1), op_write(c.d, 1)};
    r.k("batch", cuStreamBatchMemOp(s, 3, ops, 0));
    r.k("first", late(a));
    r.k("third_held", !early(c));
    b.set(1);
    r.k("third", late(c));
    OK(cuStreamSynchronize(s));
  });
  add("memop.batch_arguments", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell();
    CUstreamBatchMemOpParams op = op_write(a.d, 1);
    r.k("count0", cuStreamBatchMemOp(s, 0, &op, 0));
    r.k("count0_null", cuStreamBatchMemOp(s, 0, nullptr, 0));
    r.k("flags1", cuStreamBatchMemOp(s, 1, &op, 1));
    std::vector<CUstreamBatchMemOpParams> many(400, op);
    r.k("count255", cuStreamBatchMemOp(s, 255, many.data(), 0));
    r.k("count256", cuStreamBatchMemOp(s, 256, many.data(), 0));
    r.k("count400", cuStreamBatchMemOp(s, 400, many.data(), 0));
    OK(cuStreamSynchronize(s));
  });
  add("memop.batch_types", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell();
    CUstreamBatchMemOpParams op = op_write(a.d, 1);
    CUstreamBatchMemOpParams x = op;
    x.operation = static_cast<CUstreamBatchMemOpType>(99);
    r.k("bad_type", cuStreamBatchMemOp(s, 1, &x, 0));
    memset(&x, 0, sizeof x);
    x.memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    x.memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_SYS;
    r.k("barrier_sys", cuStreamBatchMemOp(s, 1, &x, 0));
    x.memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU;
    r.k("barrier_gpu", cuStreamBatchMemOp(s, 1, &x, 0));
    x.memoryBarrier.flags = 9;
    r.k("barrier_bad", cuStreamBatchMemOp(s, 1, &x, 0));
    memset(&x, 0, sizeof x);
    x.flushRemoteWrites.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    r.k("flush", cuStreamBatchMemOp(s, 1, &x, 0));
    OK(cuStreamSynchronize(s));
  });
  add("memop.batch_partly_bad", [](Rec& r) {
    Stream s(NB);
    Cell a = new_cell();
    CUstreamBatchMemOpParams two[2] = {op_write(a.d, 77), op_write(a.d + 1, 1)};
    r.k("second_misaligned", cuStreamBatchMemOp(s, 2, two, 0));
    OK(cuStreamSynchronize(s));
    r.k("first_of_bad_batch_done", a.get() == 77);
  });
  add("memop.special_streams", [](Rec& r) {
    Cell a = new_cell(), b = new_cell(), c = new_cell();
    r.k("null", cuStreamWriteValue32(nullptr, a.d, 1, 0));
    r.k("legacy", cuStreamWriteValue32(LEGACY, b.d, 1, 0));
    r.k("per_thread", cuStreamWriteValue32(PER_THREAD, c.d, 1, 0));
    OK(cuCtxSynchronize());
    r.k("written", a.get() + b.get() + c.get());
  });
}

}  // namespace weir::conformance
