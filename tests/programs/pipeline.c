// SPDX-License-Identifier: Apache-2.0
/* programs/pipeline.c - a program in C on the CUDA driver API that knows nothing of weir: streams,
   events, a memory pool, host functions, value waits, a captured graph, and errors. It prints the
   same on a GPU and on the embedded driver; pipeline.expected has it, and pipeline.rs is the same
   program in Rust. */
#include "driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char* name_of(CUresult result) {
  const char* name = NULL;
  return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "?";
}

static void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", call, name_of(result));
  exit(1);
}
#define MUST(call) must(call, #call)

enum { chunks = 8, words = 1 << 14, bytes = words * 4 };

static CUdevice device;

static CUstream new_stream(void) {
  CUstream stream;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

static CUevent new_event(void) {
  CUevent event;
  MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  return event;
}

static uint32_t* new_pinned(size_t size) {
  void* memory;
  MUST(cuMemHostAlloc(&memory, size, CU_MEMHOSTALLOC_DEVICEMAP));
  return memory;
}

static CUdeviceptr address_of(void* pinned) {
  CUdeviceptr address;
  MUST(cuMemHostGetDevicePointer(&address, pinned, 0));
  return address;
}

static CUmemoryPool new_pool(void) {
  CUmemPoolProps properties = {0};
  CUmemoryPool pool;
  cuuint64_t keep = 64 << 20;
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  MUST(cuMemPoolCreate(&pool, &properties));
  MUST(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  return pool;
}

/* What a host function is given: the words to add up, and where the sum goes. */
struct sum {
  const uint32_t* of;
  uint64_t is;
};

static void add_up(void* user_data) {
  struct sum* s = user_data;
  s->is = 0;
  for (int i = 0; i < words; ++i) s->is += s->of[i];
}

/* Chunks go in on one stream, are worked on by a second and come out on a third; memory is taken
   and given back in stream order, and a host function adds up what came out. */
static void pipeline(void) {
  const CUstream in = new_stream(), work = new_stream(), out = new_stream();
  const CUmemoryPool pool = new_pool();
  uint32_t* const from = new_pinned((size_t)chunks * bytes);
  uint32_t* const to = new_pinned((size_t)chunks * bytes);
  struct sum sums[chunks];
  uint64_t total = 0;
  cuuint64_t used = 0, high = 0;

  for (uint32_t i = 0; i < chunks * words; ++i) from[i] = i * 2654435761u >> 7;
  for (int c = 0; c < chunks; ++c) {
    const size_t at = (size_t)c * words;
    const CUevent arrived = new_event(), worked = new_event();
    CUdeviceptr a, b;
    sums[c].of = to + at;
    MUST(cuMemAllocFromPoolAsync(&a, bytes, pool, in));
    MUST(cuMemcpyHtoDAsync(a, from + at, bytes, in));
    MUST(cuEventRecord(arrived, in));

    MUST(cuStreamWaitEvent(work, arrived, 0));
    MUST(cuMemAllocFromPoolAsync(&b, bytes, pool, work));
    MUST(cuMemcpyDtoDAsync(b, a, bytes, work));
    MUST(cuMemsetD32Async(b, (unsigned)c, words / 2, work));
    MUST(cuMemFreeAsync(a, work));
    MUST(cuEventRecord(worked, work));

    MUST(cuStreamWaitEvent(out, worked, 0));
    MUST(cuMemcpyDtoHAsync(to + at, b, bytes, out));
    MUST(cuMemFreeAsync(b, out));
    MUST(cuLaunchHostFunc(out, add_up, &sums[c]));
    MUST(cuEventDestroy(arrived)); /* what waits for them goes on waiting */
    MUST(cuEventDestroy(worked));
  }
  MUST(cuStreamSynchronize(out));
  for (int c = 0; c < chunks; ++c) total += sums[c].is;
  MUST(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  MUST(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  printf("pipeline: sum %" PRIu64 ", in use %" PRIu64 ", was in use: %s\n", total, (uint64_t)used,
         high > 0 ? "yes" : "no");

  MUST(cuMemPoolDestroy(pool));
  MUST(cuMemFreeHost(from));
  MUST(cuMemFreeHost(to));
  MUST(cuStreamDestroy(in));
  MUST(cuStreamDestroy(work));
  MUST(cuStreamDestroy(out));
}

/* Steps note their numbers in the order in which they run; what orders them is what is tried. */
static char steps[16];
static int step_count;
static void step(void* user_data) { steps[step_count++] = *(const char*)user_data; }

/* One stream waits for a word of memory that another one writes, back and forth. */
static void values(void) {
  const CUstream s = new_stream(), t = new_stream();
  uint32_t* const word = new_pinned(sizeof *word);
  const CUdeviceptr address = address_of(word);
  *word = 0;
  MUST(cuStreamWaitValue32(s, address, 1, CU_STREAM_WAIT_VALUE_GEQ));
  MUST(cuLaunchHostFunc(s, step, "b"));
  MUST(cuStreamWriteValue32(s, address, 2, CU_STREAM_WRITE_VALUE_DEFAULT));
  printf("values: held %s", name_of(cuStreamQuery(s)));

  MUST(cuLaunchHostFunc(t, step, "a"));
  MUST(cuStreamWriteValue32(t, address, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
  MUST(cuStreamWaitValue32(t, address, 2, CU_STREAM_WAIT_VALUE_GEQ));
  MUST(cuLaunchHostFunc(t, step, "c"));
  MUST(cuStreamSynchronize(t));
  MUST(cuStreamSynchronize(s));
  printf(", steps %.*s, word %u, then %s\n", step_count, steps, (unsigned)*word,
         name_of(cuStreamQuery(s)));
  MUST(cuMemFreeHost(word));
  MUST(cuStreamDestroy(s));
  MUST(cuStreamDestroy(t));
}

static void count(void* user_data) { ++*(int*)user_data; }

/* A fork and a join, captured once and launched three times. */
static void graph(void) {
  const CUstream s = new_stream(), t = new_stream();
  const CUevent fork = new_event(), join = new_event();
  uint32_t* const result = new_pinned(bytes);
  CUdeviceptr memory;
  CUgraph captured;
  CUgraphExec exec;
  size_t nodes = 0;
  int runs = 0;
  MUST(cuMemAlloc(&memory, bytes));
  MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  MUST(cuEventRecord(fork, s));
  MUST(cuStreamWaitEvent(t, fork, 0));
  MUST(cuMemsetD32Async(memory, 3, words / 2, s));
  MUST(cuMemsetD32Async(memory + bytes / 2, 4, words / 2, t));
  MUST(cuEventRecord(join, t));
  MUST(cuStreamWaitEvent(s, join, 0));
  MUST(cuMemcpyDtoHAsync(result, memory, bytes, s));
  MUST(cuLaunchHostFunc(s, count, &runs));
  MUST(cuStreamEndCapture(s, &captured));
  MUST(cuGraphGetNodes(captured, NULL, &nodes));
  MUST(cuGraphInstantiateWithFlags(&exec, captured, 0));
  MUST(cuGraphDestroy(captured)); /* the executable one stands on its own */
  for (int i = 0; i < 3; ++i) MUST(cuGraphLaunch(exec, s));
  MUST(cuStreamSynchronize(s));
  printf("graph: %zu nodes, %d runs, %u and %u\n", nodes, runs, (unsigned)result[0],
         (unsigned)result[words - 1]);

  MUST(cuGraphExecDestroy(exec));
  MUST(cuMemFree(memory));
  MUST(cuMemFreeHost(result));
  MUST(cuEventDestroy(fork));
  MUST(cuEventDestroy(join));
  MUST(cuStreamDestroy(s));
  MUST(cuStreamDestroy(t));
}

static void tell(const char* what, CUresult answer) { printf("%s: %s\n", what, name_of(answer)); }

/* What is wrong, and what the driver calls it. */
static void errors(void) {
  const CUstream s = new_stream(), t = new_stream();
  const CUevent untimed = new_event(), fork = new_event();
  CUdevice other;
  CUdeviceptr memory;
  CUgraph captured;
  float milliseconds;
  int runs = 0;
  tell("a device too far", cuDeviceGet(&other, 1000));
  tell("no bytes", cuMemAlloc(&memory, 0));
  tell("all bytes", cuMemAlloc(&memory, (size_t)1 << 60));
  tell("no event", cuEventRecord(NULL, s));
  MUST(cuEventRecord(untimed, s));
  MUST(cuEventSynchronize(untimed));
  tell("time of what has none", cuEventElapsedTime(&milliseconds, untimed, untimed));

  MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  tell("a wait in a capture", cuStreamSynchronize(s));
  tell("the capture then", cuStreamEndCapture(s, &captured));

  MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  MUST(cuEventRecord(fork, s));
  MUST(cuStreamWaitEvent(t, fork, 0));
  MUST(cuLaunchHostFunc(t, count, &runs));
  tell("a capture without its join", cuStreamEndCapture(s, &captured));
  tell("the stream afterwards", cuStreamSynchronize(s));

  MUST(cuEventDestroy(untimed));
  MUST(cuEventDestroy(fork));
  MUST(cuStreamDestroy(s));
  MUST(cuStreamDestroy(t));
}

int main(void) {
  CUcontext context;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  pipeline();
  values();
  graph();
  errors();
  MUST(cuDevicePrimaryCtxRelease(device));
  puts("done");
  return 0;
}
