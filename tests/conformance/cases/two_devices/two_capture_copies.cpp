// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_capture_copies.cpp - captured copies, memsets and allocations across
// devices.
#include "cases/two_devices/two_reach.hpp"

#include <algorithm>

namespace weir::conformance {
namespace {

// Makes the call in a capture of the stream; if it succeeds, launches the graph once in a stream of
// device 0.
void rec_captured(Rec& r, const std::string& key, CUstream s, CUstream run_in,
                  const std::function<CUresult()>& f, const std::function<bool()>& did) {
  begin(s);
  r.k(key, f());
  CUgraph made = nullptr;
  const CUresult ended = cuStreamEndCapture(s, &made);
  if (ended != CUDA_SUCCESS) r.k(key + ".end", ended);
  if (!made) return;
  Graph gr(made);
  r.k(key + ".graph", describe(gr));
  if (count_nodes(gr) == 0) return;
  CUgraphExec x = nullptr;
  if (r.k(key + ".instantiate", cuGraphInstantiate(&x, gr, 0)) != CUDA_SUCCESS) return;
  r.k(key + ".launch", cuGraphLaunch(x, run_in));
  const CUresult end = cuStreamSynchronize(run_in);
  if (end != CUDA_SUCCESS)
    r.k(key + ".then", end);
  else
    r.k(key + ".did", did());
  cuGraphExecDestroy(x);
}

void copies(Rec& r, Reached::State state) {
  const SecondDevice device1;
  Stream s(NB), run_in(NB);
  const Reached reached(state, device1);
  const CUdeviceptr f = reached.p, n = g.dbuf;
  uint32_t value = 50;
  const auto from = [&](const char* key, CUstream in, const std::function<CUresult()>& call) {
    put_words(reached.owner, f, ++value);
    put_words(g.ctx, n, 0);
    rec_captured(r, key, in, run_in, call, [&] { return get_word(g.ctx, n) == value; });
  };
  const auto to = [&](const char* key, CUstream in, const std::function<CUresult()>& call) {
    put_words(g.ctx, n, ++value);
    put_words(reached.owner, f, 0);
    rec_captured(r, key, in, run_in, call, [&] {
      OK(cuCtxSynchronize_v2(g.device1));
      return get_word(reached.owner, f) == value;
    });
  };
  from("address.from", s, [&] { return cuMemcpyAsync(n, f, kCopied, s); });
  from("dtod.from", s, [&] { return cuMemcpyDtoDAsync(n, f, kCopied, s); });
  from("peer.from", s, [&] { return cuMemcpyPeerAsync(n, g.ctx, f, device1.ctx, kCopied, s); });
  from("far_stream.from", device1.s, [&] { return cuMemcpyAsync(n, f, kCopied, device1.s); });
  to("address.to", s, [&] { return cuMemcpyAsync(f, n, kCopied, s); });
  to("dtod.to", s, [&] { return cuMemcpyDtoDAsync(f, n, kCopied, s); });
  to("peer.to", s, [&] { return cuMemcpyPeerAsync(f, device1.ctx, n, g.ctx, kCopied, s); });
  to("far_stream.to", device1.s, [&] { return cuMemcpyAsync(f, n, kCopied, device1.s); });
  const auto host = reinterpret_cast<uint32_t*>(g.pin);
  to("htod", s, [&] {
    std::fill_n(host, 16, value);
    return cuMemcpyHtoDAsync(f, g.pin, kCopied, s);
  });
}

void rec_captured_sets(Rec& r, Reached::State state) {
  const SecondDevice device1;
  Stream s(NB), run_in(NB);
  const Reached reached(state, device1);
  const auto holds = [&](uint32_t v) {
    OK(cuCtxSynchronize_v2(g.device1));
    return get_word(reached.owner, reached.p) == v;
  };
  rec_captured(
      r, "far_stream", device1.s, run_in,
      [&] { return cuMemsetD32Async(reached.p, 1, 16, device1.s); }, [&] { return holds(1); });
  rec_captured(
      r, "near_stream", s, run_in, [&] { return cuMemsetD32Async(reached.p, 2, 16, s); },
      [&] { return holds(2); });
  rec_captured(
      r, "near_stream_in_far", s, device1.s, [&] { return cuMemsetD32Async(reached.p, 3, 16, s); },
      [&] { return holds(3); });
}

}  // namespace

void two_capture_copies_cases() {
  for (const auto& [state, name] : Reached::all) {
    using enum Reached::State;
    if (state != plain && state != plain_peer && state != pool && state != pool_peer &&
        state != pool_readwrite)
      continue;
    add("two.captured_copies." + std::string(name), SECOND_DEVICE,
        [state = state](Rec& r) { copies(r, state); });
    add("two.captured_sets." + std::string(name), SECOND_DEVICE | ISO,
        [state = state](Rec& r) { rec_captured_sets(r, state); });
  }
  add("two.captured_alloc", SECOND_DEVICE, [](Rec& r) {
    // Begun in a stream of device 0; allocates in a stream of device 1, and in one of device 0 from
    // device 1's pool.
    const SecondDevice device1;
    Stream s(NB);
    Event f;
    CUevent j = nullptr;
    {
      const Current current(device1.ctx);
      OK(cuEventCreate(&j, CU_EVENT_DISABLE_TIMING));
    }
    begin(s);
    OK(cuEventRecord(f, s));
    r.k("fork", cuStreamWaitEvent(device1.s, f, 0));
    CUdeviceptr p = 0, q = 0;
    r.k("far_stream", cuMemAllocAsync(&p, 4096, device1.s));
    CUmemoryPool pool = nullptr;
    OK(cuDeviceGetDefaultMemPool(&pool, SecondDevice::dev));
    r.k("far_pool", cuMemAllocFromPoolAsync(&q, 4096, pool, s));
    int device = -7;
    r.k("device", cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    r.k("device.is", device);
    if (p) r.k("free", cuMemFreeAsync(p, device1.s));
    if (q) r.k("free_far_pool", cuMemFreeAsync(q, s));
    r.k("join_record", cuEventRecord(j, device1.s));
    r.k("join_wait", cuStreamWaitEvent(s, j, 0));
    CUgraph made = nullptr;
    r.k("end", cuStreamEndCapture(s, &made));
    cuEventDestroy(j);
    if (!made) return;
    Graph gr(made);
    r.k("graph", describe(gr));
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("launch_far", cuGraphLaunch(x, device1.s));
    r.k("sync_far", cuStreamSynchronize(device1.s));
  });
}

}  // namespace weir::conformance
