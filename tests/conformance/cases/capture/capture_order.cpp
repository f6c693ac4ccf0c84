// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_order.cpp - the order in which a call beside a capture checks the context,
// its arguments and the capture.
#include "probe/probe.hpp"

#include <cstring>
#include <functional>
#include <string>

namespace weir::conformance {
namespace {

// Records a call beside a capture, with or without a current context, and what it does to the
// capture.
void rec_beside(Rec& r, const std::string& key, CUstreamCaptureMode mode, CUcontext current,
                const std::function<CUresult()>& call) {
  Stream s(NB);
  begin(s, mode);
  OK(cuCtxSetCurrent(current));
  const CUresult answer = call();
  OK(cuCtxSetCurrent(g.ctx));
  r.k(key, answer);
  r.k(key + ".status", capture_status(s));
  CUgraph captured = nullptr;
  cuStreamEndCapture(s, &captured);
  if (captured != nullptr) cuGraphDestroy(captured);
}

struct Call {
  const char* name;
  std::function<CUresult()> make;
};

CUmemLocation device_0() { return {CU_MEM_LOCATION_TYPE_DEVICE, 0}; }

CUresult make_array(unsigned long long width) {
  CUDA_ARRAY_DESCRIPTOR d;
  std::memset(&d, 0, sizeof d);
  d.Width = width;
  d.Format = CU_AD_FORMAT_FLOAT;
  d.NumChannels = 1;
  CUarray out = nullptr;
  const CUresult answer = cuArrayCreate(&out, &d);
  if (out != nullptr) cuArrayDestroy(out);
  return answer;
}

// Calls that allocate or change memory, with good arguments and with bad ones.
const Call memory_calls[] = {
    {"alloc",
     [] {
       CUdeviceptr p = 0;
       return cuMemAlloc(&p, 0);
     }},
    {"host_alloc_flags",
     [] {
       void* p = nullptr;
       return cuMemHostAlloc(&p, 256, 64);
     }},
    {"managed_flags",
     [] {
       CUdeviceptr p = 0;
       return cuMemAllocManaged(&p, 256, 7);
     }},
    {"managed_empty",
     [] {
       CUdeviceptr p = 0;
       return cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL);
     }},
    {"register_empty", [] { return cuMemHostRegister(g.page, 0, 0); }},
    {"array", [] { return make_array(0); }},
    {"array_destroy_null", [] { return cuArrayDestroy(nullptr); }},
    {"advise", [] { return cuMemAdvise(g.dbuf, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, device_0()); }},
    {"advise_unknown",
     [] { return cuMemAdvise(g.dbuf, 64, static_cast<CUmem_advise>(99), device_0()); }},
    {"pointer_null",
     [] { return cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, g.dbuf); }},
};

// Calls about contexts, modules and graphs.
const Call other_calls[] = {
    {"cache_config", [] { return cuCtxSetCacheConfig(static_cast<CUfunc_cache>(4)); }},
    {"bank_size", [] { return cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(0)); }},
    {"limit", [] { return cuCtxSetLimit(static_cast<CUlimit>(99), 1); }},
    {"wait_null", [] { return cuCtxWaitEvent(g.ctx, nullptr); }},
    {"record_null", [] { return cuCtxRecordEvent(g.ctx, nullptr); }},
    {"module_null", [] { return cuModuleUnload(nullptr); }},
    {"library_null", [] { return cuLibraryUnload(nullptr); }},
    {"semaphore_null", [] { return cuDestroyExternalSemaphore(nullptr); }},
    {"instantiate_flags",
     [] {
       CUgraphExec x = nullptr;
       return cuGraphInstantiate(&x, nullptr, 16);
     }},
    {"instantiate_null",
     [] {
       CUgraphExec x = nullptr;
       return cuGraphInstantiate(&x, nullptr, 0);
     }},
};

template <std::size_t Count>
void rec_calls(Rec& r, const Call (&calls)[Count], CUstreamCaptureMode mode) {
  for (const Call& call : calls) {
    rec_beside(r, call.name, mode, g.ctx, call.make);
    rec_beside(r, std::string(call.name) + ".no_context", mode, nullptr, call.make);
  }
}

// Records cuGraphInstantiateWithParams with an upload in a stream.
void rec_upload(Rec& r, const std::string& key, CUgraph gr, CUstream stream) {
  CUDA_GRAPH_INSTANTIATE_PARAMS p;
  std::memset(&p, 0, sizeof p);
  p.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  p.hUploadStream = stream;
  CUgraphExec x = nullptr;
  r.k(key, cuGraphInstantiateWithParams(&x, gr, &p));
  r.k(key + ".result", p.result_out);
  // The executable is not destroyed: the call would invalidate the capture.
}

}  // namespace

void capture_order_cases() {
  add("capture.order_memory", ISO, [](Rec& r) { rec_calls(r, memory_calls, GLOBAL); });
  add("capture.order_memory_own", ISO, [](Rec& r) { rec_calls(r, memory_calls, LOCAL); });
  add("capture.order_other", ISO, [](Rec& r) { rec_calls(r, other_calls, GLOBAL); });
  add("capture.order_upload", ISO, [](Rec& r) {
    Graph gr;
    CUgraphNode n = nullptr;
    OK(cuGraphAddEmptyNode(&n, gr, nullptr, 0));
    Stream s(NB), t(NB);
    begin(s, GLOBAL);
    rec_upload(r, "other_stream", gr, t);
    OK(cuCtxSetCurrent(nullptr));
    rec_upload(r, "no_context", gr, t);
    OK(cuCtxSetCurrent(g.ctx));
    r.k("status", capture_status(s));
    rec_upload(r, "capturing", gr, s);
    r.k("status_after", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.order_allocation", ISO, [](Rec& r) {
    Stream s(NB), t(NB);
    CUdeviceptr p = 7;
    begin(s, GLOBAL);
    r.k("null_pool_captured", cuMemAllocFromPoolAsync(&p, 256, nullptr, s));
    r.k("free_0", cuMemFreeAsync(0, s));
    r.k("status", capture_status(s));
    p = 7;
    r.k("null_pool_other", cuMemAllocFromPoolAsync(&p, 256, nullptr, t));
    r.k("null_pool_other.is", p);
    r.k("status_after", capture_status(s));
    rec_end(r, "end", s);
    begin(s, GLOBAL);
    r.k("null_other", cuMemAllocAsync(nullptr, 256, t));
    rec_end(r, "end_null_other", s);
  });
  add("capture.order_legacy_batches", ISO, [](Rec& r) {
    Stream b(BL);
    begin(b, RELAXED);
    r.k("boxes", cuMemcpy3DBatchAsync(1, nullptr, 0, nullptr));
    r.k("discard", cuMemDiscardBatchAsync(nullptr, nullptr, 1, 0, nullptr));
    r.k("begin_mode", cuStreamBeginCapture(nullptr, static_cast<CUstreamCaptureMode>(9)));
    r.k("begin_to_null",
        cuStreamBeginCaptureToGraph(nullptr, nullptr, nullptr, nullptr, 0, GLOBAL));
    r.k("status", capture_status(b));
    rec_end(r, "end", b);
  });
}

}  // namespace weir::conformance
