// SPDX-License-Identifier: Apache-2.0
// cases/ipc/ipc_memory.cpp - memory handles for other processes, in the process that owns the
// memory.
#include "cases/ipc/ipc_peers.hpp"
#include "cases/memory/pool/pools.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

// Mapped memory of cuMemCreate, which has no IPC handle.
class MappedWithoutAccess {
 public:
  CUdeviceptr p = 0;
  MappedWithoutAccess() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = g.dev;
    OK(cuMemCreate(&made_, kBytes, &prop, 0));
    OK(cuMemAddressReserve(&p, kBytes, 0, 0, 0));
    OK(cuMemMap(p, kBytes, 0, made_, 0));
  }
  MappedWithoutAccess(const MappedWithoutAccess&) = delete;
  MappedWithoutAccess& operator=(const MappedWithoutAccess&) = delete;
  ~MappedWithoutAccess() {
    if (p) cuMemUnmap(p, kBytes);
    if (p) cuMemAddressFree(p, kBytes);
    if (made_) cuMemRelease(made_);
  }

 private:
  static constexpr size_t kBytes = 2u << 20;
  CUmemGenericAllocationHandle made_ = 0;
};

}  // namespace

void ipc_memory_cases() {
  add("ipc.mem_handle_addresses", [](Rec& r) {
    DevMem d(4096);
    CUipcMemHandle h;
    r.k("start", cuIpcGetMemHandle(&h, d));
    r.k("interior", cuIpcGetMemHandle(&h, d + 100));
    r.k("last_byte", cuIpcGetMemHandle(&h, d + 4095));
    r.k("pageable", cuIpcGetMemHandle(&h, hp(g.page)));
    r.k("no_memory", cuIpcGetMemHandle(&h, 0x1234));
    r.k("no_handle", cuIpcGetMemHandle(nullptr, d));
    r.k("no_handle_no_memory", cuIpcGetMemHandle(nullptr, 0));
    CUdeviceptr gone = 0;
    OK(cuMemAlloc(&gone, 64u << 20));
    OK(cuMemFree(gone));
    r.k("freed", cuIpcGetMemHandle(&h, gone));
  });
  add("ipc.mem_handle_managed", [](Rec& r) {
    CUdeviceptr m = 0;
    OK(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
    CUipcMemHandle h;
    r.k("get", cuIpcGetMemHandle(&h, m));
    OK(cuMemFree(m));
  });
  add("ipc.mem_handle_registered", [](Rec& r) {
    OK(cuMemHostRegister(g.page, 4096, 0));
    CUipcMemHandle h;
    r.k("get", cuIpcGetMemHandle(&h, hp(g.page)));
    OK(cuMemHostUnregister(g.page));
  });
  add("ipc.mem_handle_mapped", [](Rec& r) {
    MappedWithoutAccess m;
    CUipcMemHandle h;
    r.k("get", cuIpcGetMemHandle(&h, m.p));
  });
  add("ipc.mem_handle_pitched", [](Rec& r) {
    CUdeviceptr p = 0;
    size_t pitch = 0;
    OK(cuMemAllocPitch(&p, &pitch, 100, 8, 4));
    CUipcMemHandle h;
    r.k("get", cuIpcGetMemHandle(&h, p));
    OK(cuMemFree(p));
  });
  add("ipc.mem_handle_repeated", [](Rec& r) {
    DevMem d(4096), other(4096);
    CUipcMemHandle a, b, c, o;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&c, 0, sizeof c);
    memset(&o, 0, sizeof o);
    OK(cuIpcGetMemHandle(&a, d));
    OK(cuIpcGetMemHandle(&b, d));
    OK(cuIpcGetMemHandle(&o, other));
    r.k("again_same", memcmp(&a, &b, sizeof a) == 0);
    r.k("other_differs", memcmp(&a, &o, sizeof a) != 0);
    if (cuIpcGetMemHandle(&c, d + 100) == CUDA_SUCCESS)
      r.k("interior_same", memcmp(&a, &c, sizeof a) == 0);
  });
  add("ipc.mem_handle_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx other;
    DevMem d(4096);
    CUipcMemHandle h;
    {
      Current c(other);
      r.k("other_current", cuIpcGetMemHandle(&h, d));
    }
    on_thread(
        [&] {
          r.k("none_current", cuIpcGetMemHandle(&h, d));
          r.k("none_current_null", cuIpcGetMemHandle(&h, 0));
        },
        false);
  });
  add("ipc.mem_open_arguments", [](Rec& r) {
    DevMem d(4096);
    CUipcMemHandle own, h;
    OK(cuIpcGetMemHandle(&own, d));
    CUdeviceptr q = 0;
    r.k("no_address", cuIpcOpenMemHandle(nullptr, own, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    r.k("own_flags2", cuIpcOpenMemHandle(&q, own, 2));
    r.k("own_flags3", cuIpcOpenMemHandle(&q, own, 3));
    memset(&h, 0x5a, sizeof h);
    r.k("garbage", cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    r.k("garbage_flags0", cuIpcOpenMemHandle(&q, h, 0));
    r.k("garbage_no_address", cuIpcOpenMemHandle(nullptr, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    memset(&h, 0, sizeof h);
    r.k("zeros", cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    memset(&h, 0xff, sizeof h);
    r.k("ones", cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    r.k("untouched", q == 0);
    on_thread(
        [&] {
          r.k("no_context_own", cuIpcOpenMemHandle(&q, own, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
          r.k("no_context_garbage", cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
          r.k("no_context_flags0", cuIpcOpenMemHandle(&q, own, 0));
          r.k("no_context_no_address",
              cuIpcOpenMemHandle(nullptr, own, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        },
        false);
  });
  add("ipc.mem_open_own_in_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx other;
    DevMem d(4096);
    CUipcMemHandle h;
    OK(cuIpcGetMemHandle(&h, d));
    Current c(other);
    CUdeviceptr q = 0;
    r.k("open", cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    if (q) r.k("close", cuIpcCloseMemHandle(q));
  });
  add("ipc.mem_close_arguments", [](Rec& r) {
    DevMem d(4096);
    r.k("null", cuIpcCloseMemHandle(0));
    r.k("own_interior", cuIpcCloseMemHandle(d + 16));
    r.k("pinned", cuIpcCloseMemHandle(hp(g.pin)));
    r.k("pageable", cuIpcCloseMemHandle(hp(g.page)));
    r.k("no_memory", cuIpcCloseMemHandle(0x1234));
    on_thread([&] { r.k("no_context", cuIpcCloseMemHandle(d)); }, false);
  });
  add("ipc.mem_calls_while_capturing", [](Rec& r) {
    DevMem d(4096);
    CUipcMemHandle h;
    memset(&h, 0x5a, sizeof h);
    for (const CUstreamCaptureMode mode : {GLOBAL, LOCAL, RELAXED}) {
      const std::string k = lower(name_of(mode));
      Stream s(NB);
      CUdeviceptr q = 0;
      begin(s, mode);
      lab(s, "a");
      r.k(k + ".open_garbage", cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
      r.k(k + ".status", capture_status(s));
      r.k(k + ".close_own", cuIpcCloseMemHandle(d));
      r.k(k + ".status_after", capture_status(s));
      rec_end(r, k + ".end", s);
    }
  });
  add("ipc.mem_handle_in_host_function", [](Rec& r) {
    DevMem d(4096);
    Event e(SHARED_EVENT);
    Stream s(NB);
    CUresult got[4] = {};
    OK(hf_do(s, [&] {
      CUipcMemHandle h;
      CUipcEventHandle eh;
      CUdeviceptr q = 0;
      CUevent opened = nullptr;
      got[0] = cuIpcGetMemHandle(&h, d);
      memset(&h, 0x5a, sizeof h);
      got[1] = cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
      got[2] = cuIpcGetEventHandle(&eh, e);
      memset(&eh, 0x5a, sizeof eh);
      got[3] = cuIpcOpenEventHandle(&opened, eh);
    }));
    OK(cuStreamSynchronize(s));
    r.k("get_memory", got[0]);
    r.k("open_memory", got[1]);
    r.k("get_event", got[2]);
    r.k("open_event", got[3]);
  });
}

}  // namespace weir::conformance
