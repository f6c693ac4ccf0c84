// SPDX-License-Identifier: Apache-2.0
// cases/ipc/ipc_memory_opened.cpp - memory of another process, in the process that opened it.
#include "cases/ipc/ipc_peers.hpp"

#include <cstring>
#include <utility>

namespace weir::conformance {
namespace {

constexpr unsigned LAZY = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

// Memory that the other process allocated, opened here in the current context.
class OpenedMem {
 public:
  CUdeviceptr p = 0;
  explicit OpenedMem(const CUipcMemHandle& h) { OK(cuIpcOpenMemHandle(&p, h, LAZY)); }
  OpenedMem(const OpenedMem&) = delete;
  OpenedMem& operator=(const OpenedMem&) = delete;
  ~OpenedMem() {
    if (p) cuIpcCloseMemHandle(p);
  }
  operator CUdeviceptr() const { return p; }
  CUresult close() {
    const CUdeviceptr was = p;
    p = 0;
    return cuIpcCloseMemHandle(was);
  }
};

CUipcMemHandle made(Exporter& p, const std::string& bytes, const std::string& slot = "0") {
  p.must("make_mem." + slot + " " + bytes);
  return p.handle<CUipcMemHandle>("mem_handle." + slot + " 0");
}

// Returns an attribute as a number, read as the given type.
template <class Value>
void rec_attribute_as(Rec& r, const std::string& key, CUpointer_attribute attribute,
                      CUdeviceptr p) {
  Value v{};
  if (r.k(key, cuPointerGetAttribute(&v, attribute, p)) == CUDA_SUCCESS) {
    r.k(key + "_value", static_cast<unsigned long long>(v));
  }
}

void rec_attributes(Rec& r, CUdeviceptr p) {
  CUcontext c = nullptr;
  r.k("context", cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, p));
  r.k("context_current", c == g.ctx);
  rec_attribute_as<unsigned>(r, "type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
  rec_attribute_as<CUdeviceptr>(r, "host", CU_POINTER_ATTRIBUTE_HOST_POINTER, p);
  rec_attribute_as<unsigned>(r, "managed", CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
  rec_attribute_as<int>(r, "ordinal", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p);
  rec_attribute_as<unsigned>(r, "ipc_capable", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p);
  rec_attribute_as<unsigned>(r, "mapped", CU_POINTER_ATTRIBUTE_MAPPED, p);
  rec_attribute_as<unsigned>(r, "sync_memops", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
  rec_attribute_as<unsigned long long>(r, "handle_types", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                       p);
  rec_attribute_as<unsigned>(r, "access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p);
  rec_attribute_as<unsigned long long>(r, "pool", CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
  rec_attribute_as<unsigned long long>(r, "size", CU_POINTER_ATTRIBUTE_RANGE_SIZE, p);
  CUdeviceptr start = 0;
  r.k("start", cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p));
  r.k("start_before", static_cast<unsigned long long>(p - start));
  CUdeviceptr same = 0;
  r.k("device_pointer", cuPointerGetAttribute(&same, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p));
  r.k("device_pointer_same", same == p);
  unsigned long long id = 0;
  r.k("buffer_id", cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
  r.k("buffer_id_not_0", id != 0);
  size_t size = 0;
  CUdeviceptr base = 0;
  r.k("range", cuMemGetAddressRange(&base, &size, p));
  r.k("range_size", size);
  r.k("range_before", static_cast<unsigned long long>(p - base));
}

void reading_cases() {
  add("ipc.opened_mem_attributes", SLOW, [](Rec& r) {
    Exporter p;
    OpenedMem m(made(p, "4096"));
    rec_attributes(r, m);
  });
  add("ipc.opened_mem_attributes_large", SLOW, [](Rec& r) {
    Exporter p;
    OpenedMem m(made(p, std::to_string((3u << 20) + 4)));
    rec_attributes(r, m);
    rec_word(r, "word", m + 4);
  });
  add("ipc.opened_mem_twice", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = made(p, "4096");
    CUdeviceptr a = 0, b = 0;
    r.k("first", cuIpcOpenMemHandle(&a, h, LAZY));
    r.k("second", cuIpcOpenMemHandle(&b, h, LAZY));
    r.k("same", a == b);
    r.k("close", cuIpcCloseMemHandle(a));
    rec_word(r, "word_after_one_close", b);
    r.k("close_again", cuIpcCloseMemHandle(b));
    r.k("close_once_more", cuIpcCloseMemHandle(b));
    r.k("read_closed", cuMemcpyDtoH(&a, b, 4));
    CUdeviceptr c = 0;
    r.k("open_after_close", cuIpcOpenMemHandle(&c, h, LAZY));
    if (c) rec_word(r, "word", c);
    if (c) r.k("close_last", cuIpcCloseMemHandle(c));
  });
  add("ipc.opened_mem_neighbours", SLOW, [](Rec& r) {
    // two small blocks, which the driver may have allocated from one chunk
    Exporter p;
    const auto h0 = made(p, "256", "0"), h1 = made(p, "256", "1");
    p.must("write.0 11");
    p.must("write.1 12");
    OpenedMem a(h0), b(h1);
    r.k("differ", a.p != b.p);
    rec_word(r, "first", a);
    rec_word(r, "second", b);
    size_t size = 0;
    CUdeviceptr base = 0;
    r.k("range", cuMemGetAddressRange(&base, &size, b));
    r.k("range_size", size);
    r.k("range_starts_there", base == b.p);
    r.k("close_first", a.close());
    rec_word(r, "second_after", b);
    r.k("close_second", b.close());
  });
  add("ipc.opened_mem_interior", SLOW, [](Rec& r) {
    // which address the handle of an inner address opens
    Exporter p;
    p.must("make_mem 4096");
    const auto h = p.handle<CUipcMemHandle>("mem_handle 1024");
    OpenedMem m(h);
    rec_word(r, "word", m);
    rec_word(r, "next_word", m + 4);
    r.k("close", m.close());
  });
  add("ipc.opened_mem_work", SLOW, [](Rec& r) {
    Exporter p;
    OpenedMem m(made(p, "4096"));
    DevMem own(4096);
    Stream s(NB);
    r.k("set", cuMemsetD32Async(m + 8, 77, 2, s));
    r.k("copy_out", cuMemcpyDtoDAsync(own, m, 16, s));
    r.k("copy_in", cuMemcpyDtoDAsync(m + 16, own, 4, s));
    r.k("copy_unified", cuMemcpyAsync(m + 20, own, 4, s));
    r.k("stream", cuStreamSynchronize(s));
    r.k("seen_set", p.request("read 8"));
    r.k("seen_copy", p.request("read 16"));
    r.k("seen_unified", p.request("read 20"));
    r.k("past_end", cuMemsetD32(m + 4096, 1, 1));
    r.k("set_sync_memops", [&] {
      unsigned on = 1;
      return cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, m);
    }());
  });
}

void end_cases() {
  add("ipc.opened_mem_freed", ISO | SLOW, [](Rec& r) {
    Exporter p;
    OpenedMem m(made(p, "4096"));
    Stream s(NB);
    r.k("free", cuMemFree(m));
    r.k("free_async", cuMemFreeAsync(m, s));
    r.k("free_host", cuMemFreeHost(reinterpret_cast<void*>(m.p)));
    OK(cuStreamSynchronize(s));
    r.k("close_interior", cuIpcCloseMemHandle(m + 16));
    rec_word(r, "word", m);
    r.k("close", m.close());
  });
  add("ipc.opened_mem_close_while_busy", SLOW, [](Rec& r) {
    Exporter p;
    OpenedMem m(made(p, "4096"));
    Stream s(NB);
    ValueGate v;
    v.arm(s);
    OK(cuMemsetD32Async(m, 99, 1, s));
    record_blocking(r, "close", blocking([&] { v.open(); }, [&] { return m.close(); }));
    v.open();
    r.k("stream", cuStreamSynchronize(s));
    r.k("~seen", p.request("read"));
  });
  add("ipc.opened_mem_exporter_frees", ISO | SLOW, [](Rec& r) {
    Exporter p;
    const auto h = made(p, "4096");
    OpenedMem m(h);
    r.k("exporter_frees", p.request("free"));
    rec_word(r, "~word", m);
    CUdeviceptr again = 0;
    r.k("~open_again", cuIpcOpenMemHandle(&again, h, LAZY));
    r.k("close", m.close());
    if (again) r.k("~close_again", cuIpcCloseMemHandle(again));
    CUdeviceptr after = 0;
    r.k("open_after_close", cuIpcOpenMemHandle(&after, h, LAZY));
    if (after) cuIpcCloseMemHandle(after);
  });
  add("ipc.mem_opened_after_its_end", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = made(p, std::to_string(8u << 20));
    p.must("free");
    CUdeviceptr q = 0;
    r.k("open", cuIpcOpenMemHandle(&q, h, LAZY));
    if (q) cuIpcCloseMemHandle(q);
  });
  add("ipc.mem_opened_after_its_process", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = made(p, "4096");
    p.wait_for_exit();
    CUdeviceptr q = 0;
    r.k("open", cuIpcOpenMemHandle(&q, h, LAZY));
    if (q) cuIpcCloseMemHandle(q);
  });
  add("ipc.opened_mem_outlives_process", ISO | SLOW, [](Rec& r) {
    Exporter p;
    OpenedMem m(made(p, "4096"));
    p.wait_for_exit();
    rec_word(r, "word", m + 4);
    r.k("set", cuMemsetD32(m, 5, 1));
    r.k("sync", cuCtxSynchronize());
    rec_word(r, "set_word", m);
    r.k("close", m.close());
  });
  add("ipc.opened_mem_context_ends", ISO | SLOW | SECOND_CONTEXT, [](Rec& r) {
    OtherCtx other;
    Exporter p;
    const auto h = made(p, "4096");
    CUdeviceptr a = 0;
    {
      Current c(other);
      OK(cuIpcOpenMemHandle(&a, h, LAZY));
    }
    rec_word(r, "word_in_first", a);
    CUdeviceptr b = 0;
    r.k("open_in_first", cuIpcOpenMemHandle(&b, h, LAZY));
    r.k("~same", a == b);
    if (b) r.k("close_in_first", cuIpcCloseMemHandle(b));
    r.k("close_others", cuIpcCloseMemHandle(a));
    CUdeviceptr c2 = 0;
    {
      Current c(other);
      r.k("open_again", cuIpcOpenMemHandle(&c2, h, LAZY));
    }
    r.k("destroy_context", other.destroy());
    r.k("close_after_destroy", cuIpcCloseMemHandle(c2));
    r.k("exporter_reads", p.request("read"));
  });
}

void refusal_cases() {
  add("ipc.mem_open_flags", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = made(p, "4096");
    for (unsigned flags : {0u, 2u, 3u, ~0u}) {
      CUdeviceptr q = 0;
      r.k("flags" + std::to_string(static_cast<int>(flags)), cuIpcOpenMemHandle(&q, h, flags));
      if (q) cuIpcCloseMemHandle(q);
    }
    r.k("no_address", cuIpcOpenMemHandle(nullptr, h, LAZY));
    on_thread(
        [&] {
          CUdeviceptr q = 0;
          r.k("no_context", cuIpcOpenMemHandle(&q, h, LAZY));
        },
        false);
  });
  add("ipc.opened_mem_handle", SLOW, [](Rec& r) {
    Exporter p;
    const auto first = made(p, "4096");
    OpenedMem m(first);
    CUipcMemHandle h;
    memset(&h, 0, sizeof h);
    if (r.k("get", cuIpcGetMemHandle(&h, m)) != CUDA_SUCCESS) return;
    r.k("same", memcmp(&h, &first, sizeof h) == 0);
    Exporter third;
    r.k("third_opens", third.request("mem " + to_hex(&h, sizeof h)));
    r.k("third_reads", third.request("read 4"));
  });
  add("ipc.opened_mem_in_captures", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = made(p, "4096");
    for (const CUstreamCaptureMode mode : {GLOBAL, LOCAL, RELAXED}) {
      const std::string k = lower(name_of(mode));
      Stream s(NB);
      CUdeviceptr q = 0;
      begin(s, mode);
      lab(s, "a");
      r.k(k + ".open", cuIpcOpenMemHandle(&q, h, LAZY));
      r.k(k + ".status", capture_status(s));
      rec_end(r, k + ".end", s);
      if (!q) OK(cuIpcOpenMemHandle(&q, h, LAZY));
      begin(s, mode);
      r.k(k + ".set", cuMemsetD32Async(q, 3, 1, s));
      const CUresult closed = r.k(k + ".close", cuIpcCloseMemHandle(q));
      r.k(k + ".close_status", capture_status(s));
      CUgraph graph = nullptr;
      r.k(k + ".close_end", cuStreamEndCapture(s, &graph));
      if (graph) cuGraphDestroy(graph);
      if (closed != CUDA_SUCCESS) OK(cuIpcCloseMemHandle(q));
    }
  });
  add("ipc.opened_mem_both_ways", SLOW, [](Rec& r) {
    // each process opens the other's memory, and an event orders them
    Exporter p;
    OpenedMem theirs(made(p, "4096"));
    DevMem ours(4096);
    CUipcMemHandle h;
    OK(cuIpcGetMemHandle(&h, ours));
    r.k("peer_opens", p.request("mem.1 " + to_hex(&h, sizeof h)));
    OK(cuMemcpyDtoD(ours, theirs, 64));
    OK(cuCtxSynchronize());
    r.k("peer_reads", p.request("read.1 4"));
    r.k("peer_writes", p.request("write.1 66"));
    rec_word(r, "seen", ours);
    r.k("peer_closes", p.request("close.1"));
    r.k("peer_closes_own", p.request("close.0"));
  });
}

}  // namespace

void ipc_memory_opened_cases() {
  reading_cases();
  end_cases();
  refusal_cases();
}

}  // namespace weir::conformance
