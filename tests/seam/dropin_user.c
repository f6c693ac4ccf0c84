// SPDX-License-Identifier: Apache-2.0
// seam/dropin_user.c - a C program that uses the CUDA driver API without weir. With the drop-in's
// folder as the library path, it runs on the embedded driver.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The parts of <cuda.h> that it uses, under the names that the library exports.
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;

CUresult cuInit(unsigned flags);
CUresult cuGetErrorName(CUresult error, const char** text);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetName(char* name, int length, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void* dst, CUdeviceptr src, size_t bytes, CUstream stream);
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventQuery(CUevent event);
CUresult cuEventDestroy_v2(CUevent event);

static int failed(CUresult result, const char* call) {
  const char* name = "?";
  if (result == 0) return 0;
  cuGetErrorName(result, &name);
  fprintf(stderr, "%s: %s\n", call, name);
  return 1;
}
#define TRY(call) \
  if (failed(call, #call)) return 1

enum { words = 1 << 16 };
static uint32_t host[words];

// Sets words in a stream, copies them back in the stream, and waits for an event behind both.
static int set_and_copy_back(void) {
  CUstream stream;
  CUevent event;
  CUdeviceptr memory;
  TRY(cuStreamCreate(&stream, 1));
  TRY(cuEventCreate(&event, 2));
  TRY(cuMemAlloc_v2(&memory, sizeof host));

  TRY(cuMemsetD32Async(memory, 0xC0FFEEu, words, stream));
  TRY(cuMemcpyDtoHAsync_v2(host, memory, sizeof host, stream));
  TRY(cuEventRecord(event, stream));
  TRY(cuEventSynchronize(event));
  TRY(cuEventQuery(event));
  TRY(cuStreamSynchronize(stream));
  for (int i = 0; i < words; ++i) {
    if (host[i] != 0xC0FFEEu) {
      fprintf(stderr, "word %d is %x\n", i, (unsigned)host[i]);
      return 1;
    }
  }
  TRY(cuMemFree_v2(memory));
  TRY(cuEventDestroy_v2(event));
  TRY(cuStreamDestroy_v2(stream));
  return 0;
}

int main(void) {
  int count = 0;
  CUdevice device;
  CUcontext context;
  char name[256];
  TRY(cuInit(0));
  TRY(cuDeviceGetCount(&count));
  TRY(cuDeviceGet(&device, 0));
  TRY(cuDeviceGetName(name, sizeof name, device));
  printf("devices=%d name=%s\n", count, name);

  TRY(cuDevicePrimaryCtxRetain(&context, device));
  TRY(cuCtxSetCurrent(context));
  if (set_and_copy_back() != 0) return 1;
  TRY(cuDevicePrimaryCtxRelease_v2(device));
  puts("ok");
  return 0;
}
