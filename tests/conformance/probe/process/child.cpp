// SPDX-License-Identifier: Apache-2.0
// probe/process/child.cpp - a process that runs the cases it is given, one after the other.
#include "probe/process/child.hpp"

#include "probe/driver.hpp"
#include "probe/graph/build_graph.hpp"
#include "probe/owners.hpp"
#include "probe/process/run.hpp"
#include "probe/record.hpp"
#include "probe/second_device.hpp"
#include "probe/time_limits.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

namespace weir::conformance {
namespace {

std::atomic<long long> g_case_began_ms{-1};  // -1 between cases
std::atomic<bool> g_case_fired{false};
std::atomic<int> g_case_factor{1};

long long now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

void watchdog(double watchdog_limit_s) {
  for (;;) {
    sleep_ms(100);
    const long long began = g_case_began_ms;
    if (began < 0 || g_case_fired) continue;
    if (static_cast<double>(now_ms() - began) > watchdog_limit_s * 1000 * g_case_factor) {
      g_case_fired = true;
      protocol("K watchdog=fired");
      release_all();
    }
  }
}

}  // namespace

void child_environment(bool alone) {
  // Many hardware queues keep unrelated streams from blocking each other. They make contexts slower
  // to create, and a process with one case needs few. Lazy loading is off, because it would wait
  // for blocked streams.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", alone ? "8" : "32", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

void child_setup() {
  OK(cuInit(0));
  OK(cuDeviceGet(&g.dev, 0));
  OK(cuDevicePrimaryCtxRetain(&g.ctx, g.dev));
  OK(cuCtxSetCurrent(g.ctx));
  void* p = nullptr;
  OK(cuMemHostAlloc(&p, kCells * kCellBytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  g.cells = static_cast<unsigned char*>(p);
  memset(p, 0, kCells * kCellBytes);
  OK(cuMemHostGetDevicePointer(&g.cells_dev, p, 0));
  OK(cuMemAlloc(&g.dbuf, kScratch));
  OK(cuMemHostAlloc(&p, kScratch, CU_MEMHOSTALLOC_PORTABLE));
  g.pin = static_cast<unsigned char*>(p);
  memset(p, 0, kScratch);
  g.page = static_cast<unsigned char*>(aligned_alloc(4096, kScratch));
  memset(g.page, 0, kScratch);
  OK(cuEventCreate(&g.unrecorded, CU_EVENT_DISABLE_TIMING));
}

void child_warm_up() {
  CUstream s = nullptr, t = nullptr;
  if (cuStreamCreate(&s, NB) != CUDA_SUCCESS) return;
  cuStreamCreate(&t, BL);
  CUdeviceptr cd = g.cells_dev;
  cuMemsetD8Async(g.dbuf, 0, 1000, s);
  cuMemsetD16Async(g.dbuf, 0, 1000, s);
  cuMemsetD32Async(g.dbuf, 0, 1000, s);
  cuMemsetD2D8Async(g.dbuf, 256, 0, 64, 4, s);
  cuMemsetD2D16Async(g.dbuf, 256, 0, 64, 4, s);
  cuMemsetD2D32Async(g.dbuf, 256, 0, 64, 4, s);
  cuMemsetD32Async(cd, 0, 1, s);
  cuMemcpyHtoDAsync(g.dbuf, g.pin, 65536, s);
  cuMemcpyHtoDAsync(g.dbuf, g.pin, 4, s);
  cuMemcpyDtoDAsync(g.dbuf + 65536, g.dbuf, 65536, s);
  cuMemcpyDtoHAsync(g.pin, g.dbuf, 65536, s);
  cuMemcpyHtoDAsync(g.dbuf, g.page, 65536, s);
  cuMemcpyDtoHAsync(g.page, g.dbuf, 65536, s);
  cuStreamWriteValue32(s, cd, 1, 0);
  cuStreamWaitValue32(s, cd, 1, CU_STREAM_WAIT_VALUE_EQ);
  cuStreamWriteValue32(s, cd, 0, 0);
  cuLaunchHostFunc(s, label_fn, new_label("warm"));
  cuStreamAddCallback(
      s, [](CUstream, CUresult, void*) {}, nullptr, 0);
  cuStreamSynchronize(s);
  cuMemcpyHtoD(g.dbuf, g.pin, 64);
  cuMemcpyHtoD(g.dbuf, g.page, 64);
  cuMemcpyDtoH(g.page, g.dbuf, 64);
  cuMemsetD8(g.dbuf, 0, 64);
  cuMemsetD32Async(g.dbuf, 0, 4, LEGACY);
  cuMemsetD32Async(g.dbuf + 64, 0, 4,
                   PER_THREAD);  // runs concurrently with the next one, unordered
  if (t) cuMemsetD32Async(g.dbuf, 0, 4, t);
  cuCtxSynchronize();
  CUgraph gr = nullptr;
  CUgraphExec x = nullptr;
  if (cuGraphCreate(&gr, 0) == CUDA_SUCCESS) {
    CUgraphNode n = nullptr, m = nullptr;
    CUDA_MEMSET_NODE_PARAMS p = memset_params(g.dbuf, 0, 16);
    CUDA_MEMCPY3D c = copy_h2d(g.dbuf, g.pin, 64);
    CUstreamBatchMemOpParams op = op_write(cd, 0);
    CUDA_BATCH_MEM_OP_NODE_PARAMS bp{};
    bp.ctx = g.ctx;
    bp.count = 1;
    bp.paramArray = &op;
    cuGraphAddMemsetNode(&n, gr, nullptr, 0, &p, g.ctx);
    if (n) cuGraphAddMemcpyNode(&m, gr, &n, 1, &c, g.ctx);
    cuGraphAddBatchMemOpNode(&m, gr, nullptr, 0, &bp);
    if (cuGraphInstantiate(&x, gr, 0) == CUDA_SUCCESS && x) {
      cuGraphLaunch(x, s);
      cuStreamSynchronize(s);
      cuGraphExecDestroy(x);
    }
    cuGraphDestroy(gr);
  }
  CUdeviceptr a = 0;
  if (cuMemAllocAsync(&a, 1 << 20, s) == CUDA_SUCCESS) cuMemFreeAsync(a, s);
  cuStreamSynchronize(s);
  if (t) cuStreamDestroy(t);
  cuStreamDestroy(s);
  cuCtxSynchronize();
}

bool is_reusable() {
  CUcontext c = nullptr;
  if (cuCtxGetCurrent(&c) != CUDA_SUCCESS || c != g.ctx) return false;
  CUstreamCaptureMode m = GLOBAL;
  if (cuThreadExchangeStreamCaptureMode(&m) == CUDA_SUCCESS && m != GLOBAL) return false;
  if (cuEventQuery(g.unrecorded) != CUDA_SUCCESS) return false;
  if (cuCtxSynchronize() != CUDA_SUCCESS) return false;
  if (g.device1 && cuCtxSynchronize_v2(g.device1) != CUDA_SUCCESS) return false;
  if (cuMemsetD32(g.dbuf, 0x5a5a, 1) != CUDA_SUCCESS) return false;
  uint32_t v = 0;
  if (cuMemcpyDtoH(&v, g.dbuf, 4) != CUDA_SUCCESS || v != 0x5a5a) return false;
  return true;
}

void prepare_case(const Case& c) {
  if (c.flags & SECOND_DEVICE) retain_second_device();
  if (!(c.flags & SECOND_CONTEXT) || g.other) return;
  try {
    g.other = make_context();
  } catch (const Abort&) {
    g.other = nullptr;  // the case says so
  }
}

void run_case(const Case& c, bool set_up, double watchdog_limit_s) {
  Rec r;
  if (set_up) clear_cells();
  const int factor = c.flags & SLOW ? kSlowFactor : 1;
  begin_case_limits(watchdog_limit_s * factor);
  g_case_factor = factor;
  g_case_fired = false;
  g_case_began_ms = now_ms();
  try {
    if (c.flags & SECOND_DEVICE && !g.device1)
      protocol("K " + std::string(kOneDevice));
    else
      c.body(r);
  } catch (const Abort& a) {
    protocol("K stopped_at=" + clean(a.what));
  } catch (const std::exception& e) {
    protocol("K exception=" + clean(e.what()));
  }
  release_all();
  g_case_began_ms = -1;
}

int child_main(const std::vector<size_t>& list, double watchdog_limit_s) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  protocol_to(kProtocolFd);
  std::thread(watchdog, watchdog_limit_s).detach();
  const unsigned flags = list.size() == 1 ? cases()[list[0]].flags : unsigned{NORMAL};
  child_environment(flags & (ISO | RAW));
  std::string why;
  if (!load_library(&why)) {
    protocol("F " + clean(why));
    return 2;
  }
  const bool raw = flags & RAW;
  bool check = false;
  if (!raw) {
    try {
      child_setup();
    } catch (const Abort& a) {
      protocol("F setup:" + clean(a.what));
      _exit(3);
    }
    child_warm_up();
    check = is_reusable();
  }
  for (size_t n = 0; n < list.size(); n++) {
    prepare_case(cases()[list[n]]);
    protocol("B " + std::to_string(list[n]));
    run_case(cases()[list[n]], !raw, watchdog_limit_s);
    protocol("E");
    // After the last case this does not matter.
    if (check && n + 1 < list.size() && !is_reusable()) {
      protocol("U");
      _exit(kNotReusable);
    }
  }
  protocol("D");
  // No clean-up: objects that a case left in the driver must not affect how the process ends.
  _exit(0);
}

int device_keeper_main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!load_library()) return 0;
  CUcontext c = nullptr;
  if (cuInit(0) == CUDA_SUCCESS) {
    cuDevicePrimaryCtxRetain(&c, 0);
    cuDevicePrimaryCtxRetain(&c, SecondDevice::dev);  // fails if there is none
  }
  for (;;) pause();
}

}  // namespace weir::conformance
