// SPDX-License-Identifier: Apache-2.0
// cases/stream/stream_attach.cpp - attaching managed memory; streams used by two threads.
#include "probe/probe.hpp"

namespace weir::conformance {

void stream_attach_cases() {
  add("stream.attach_managed", [](Rec& r) {
    CUdeviceptr m = 0;
    OK(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
    Stream s(NB);
    r.k("single", cuStreamAttachMemAsync(s, m, 0, CU_MEM_ATTACH_SINGLE));
    r.k("host", cuStreamAttachMemAsync(s, m, 0, CU_MEM_ATTACH_HOST));
    r.k("global", cuStreamAttachMemAsync(s, m, 4096, CU_MEM_ATTACH_GLOBAL));
    r.k("single_null_stream", cuStreamAttachMemAsync(nullptr, m, 0, CU_MEM_ATTACH_SINGLE));
    r.k("single_legacy", cuStreamAttachMemAsync(LEGACY, m, 0, CU_MEM_ATTACH_SINGLE));
    r.k("single_per_thread", cuStreamAttachMemAsync(PER_THREAD, m, 0, CU_MEM_ATTACH_SINGLE));
    r.k("global_null_stream", cuStreamAttachMemAsync(nullptr, m, 0, CU_MEM_ATTACH_GLOBAL));
    OK(cuStreamSynchronize(s));
    OK(cuCtxSynchronize());
    cuMemFree(m);
  });
  // one call for each case, because some crash a driver
  struct Attach {
    const char* name;
    unsigned flags;
    size_t length;
    int pointer;  // 0 the managed allocation, 1 inside of it, 2 device memory, 3 pinned memory, 4
                  // null, 5 pageable
  };
  for (const Attach& a :
       {Attach{"flags0", 0, 0, 0}, Attach{"flags3", 3, 0, 0}, Attach{"flags8", 8, 0, 0},
        Attach{"part_length", CU_MEM_ATTACH_GLOBAL, 128, 0},
        Attach{"inner_pointer", CU_MEM_ATTACH_GLOBAL, 0, 1},
        Attach{"device_pointer", CU_MEM_ATTACH_GLOBAL, 0, 2},
        Attach{"pinned_pointer", CU_MEM_ATTACH_GLOBAL, 0, 3},
        Attach{"null_pointer", CU_MEM_ATTACH_GLOBAL, 0, 4},
        Attach{"pageable_pointer", CU_MEM_ATTACH_GLOBAL, 0, 5}})
    add(std::string("stream.attach_managed.") + a.name, [a](Rec& r) {
      CUdeviceptr m = 0;
      OK(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
      Stream s(NB);
      CUdeviceptr p = a.pointer == 0   ? m
                      : a.pointer == 1 ? m + 64
                      : a.pointer == 2 ? g.dbuf
                      : a.pointer == 3 ? reinterpret_cast<CUdeviceptr>(g.pin)
                      : a.pointer == 4 ? 0
                                       : reinterpret_cast<CUdeviceptr>(g.page);
      r.k("res", cuStreamAttachMemAsync(s, p, a.length, a.flags));
      r.k("sync", cuStreamSynchronize(s));
      cuMemFree(m);
    });
  add("stream.submit_from_two_threads", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    hf(s, t, "main1");
    on_thread([&] { hf(s, t, "other"); });
    hf(s, t, "main2");
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("stream.sync_from_other_thread", [](Rec& r) {
    Stream s(NB);
    ValueGate v;
    v.arm(s);
    on_thread([&] {
      record_blocking(r, "sync",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(s); }));
    });
  });
}

}  // namespace weir::conformance
