// SPDX-License-Identifier: Apache-2.0
// cases/ipc/ipc.cpp - events and memory shared with another process.
#include "probe/probe.hpp"
#include "probe/process/ipc_peer.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

// Returns the address of host memory, for copies that take any address.
}  // namespace

void ipc_cases() {
  add("ipc.event_handle_flags", [](Rec& r) {
    CUipcEventHandle h;
    for (unsigned f : {0u, 2u, 6u, 7u}) {
      Event e(f);
      r.k("f" + std::to_string(f), cuIpcGetEventHandle(&h, e));
    }
  });
  add("ipc.event_open_same_process", [](Rec& r) {
    Event e(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    CUipcEventHandle h;
    OK(cuIpcGetEventHandle(&h, e));
    CUevent f = nullptr;
    r.k("open", cuIpcOpenEventHandle(&f, h));
    if (f) cuEventDestroy(f);
    memset(&h, 0x5a, sizeof h);
    f = nullptr;
    r.k("garbage", cuIpcOpenEventHandle(&f, h));
  });
  add("ipc.event_peer", ISO, [](Rec& r) {
    Peer p;
    Event e(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    Stream s(NB);
    ValueGate v;
    CUipcEventHandle h;
    OK(cuIpcGetEventHandle(&h, e));
    v.arm(s);
    OK(cuEventRecord(e, s));
    r.k("init", p.request("init", 7000));
    r.k("open", p.request("event " + to_hex(&h, sizeof h)));
    r.k("pending", p.request("query"));
    p.send("sync");
    r.k("sync_early", p.receive(200));
    v.open();
    r.k("sync", p.receive());
    r.k("complete", p.request("query"));
    r.k("peer_record", p.request("record"));
    r.k("wait_for_peer_record", cuEventSynchronize(e));
    r.k("destroy", p.request("destroy"));
  });
  add("ipc.mem_same_process", [](Rec& r) {
    DevMem d(4096);
    CUipcMemHandle h;
    r.k("get", cuIpcGetMemHandle(&h, d));
    CUdeviceptr q = 0;
    r.k("open", cuIpcOpenMemHandle(&q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    r.k("open_flags0", cuIpcOpenMemHandle(&q, h, 0));
    r.k("get_pinned", cuIpcGetMemHandle(&h, as_address(g.pin)));
    r.k("get_null", cuIpcGetMemHandle(&h, 0));
    r.k("close_own", cuIpcCloseMemHandle(d));
    Stream s(NB);
    CUdeviceptr a = 0;
    OK(cuMemAllocAsync(&a, 4096, s));
    r.k("get_pool_memory", cuIpcGetMemHandle(&h, a));
    OK(cuMemFreeAsync(a, s));
    OK(cuStreamSynchronize(s));
  });
  add("ipc.mem_peer", ISO, [](Rec& r) {
    Peer p;
    DevMem d(4096);
    OK(cuMemsetD32(d, 301, 4));
    OK(cuCtxSynchronize());
    CUipcMemHandle h;
    OK(cuIpcGetMemHandle(&h, d));
    r.k("init", p.request("init", 7000));
    r.k("open", p.request("mem " + to_hex(&h, sizeof h)));
    r.k("peer_reads", p.request("read"));
    r.k("peer_writes", p.request("write 302"));
    uint32_t v = 0;
    OK(cuMemcpyDtoH(&v, d, 4));
    r.k("seen", v);
    r.k("close", p.request("close"));
  });
}

}  // namespace weir::conformance
