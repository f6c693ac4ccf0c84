// SPDX-License-Identifier: Apache-2.0
// probe/second_device.cpp - the second device: its primary context, and the objects of a case
// there.
#include "probe/second_device.hpp"

#include "probe/driver.hpp"
#include "probe/owners.hpp"
#include "probe/record.hpp"

namespace weir::conformance {

void retain_second_device() {
  int devices = 0;
  if (g.device1 || cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices < 2) return;
  CUcontext made = nullptr;
  if (cuDevicePrimaryCtxRetain(&made, SecondDevice::dev) != CUDA_SUCCESS) return;
  // Uses each kind of work once, as in the first device's context.
  const Current current(made);
  CUdeviceptr p = 0;
  if (cuMemAlloc(&p, kSecondDeviceBytes) == CUDA_SUCCESS) {
    cuMemsetD8(p, 0, 64);
    cuMemsetD32(p, 0, 16);
    cuMemcpyHtoD(p, g.pin, 64);
    cuMemcpyDtoD(p + 64, p, 64);
    cuMemcpyDtoH(g.pin, p, 64);
    cuCtxSynchronize();
    cuMemFree(p);
  }
  g.device1 = made;
}

SecondDevice::SecondDevice() : ctx(g.device1) {
  if (!ctx) throw Abort{"no_far_device"};
  const Current current(ctx);
  OK(cuStreamCreate(&s, NB));
  OK(cuMemAlloc(&mem, kSecondDeviceBytes));
  OK(cuMemsetD8(mem, 0, kSecondDeviceBytes));
  OK(cuCtxSynchronize());
}

SecondDevice::~SecondDevice() {
  cuCtxDisablePeerAccess(ctx);
  if (cuCtxPushCurrent(ctx) != CUDA_SUCCESS) return;
  cuCtxDisablePeerAccess(g.ctx);
  if (s) cuStreamDestroy(s);
  if (mem) cuMemFree(mem);
  CUcontext popped = nullptr;
  cuCtxPopCurrent(&popped);
}

CUresult SecondDevice::enable_access_from_first() const {
  const Current current(g.ctx);
  return cuCtxEnablePeerAccess(ctx, 0);
}

CUresult SecondDevice::enable_access_to_first() const {
  const Current current(ctx);
  return cuCtxEnablePeerAccess(g.ctx, 0);
}

void hold(ValueGate& gate, CUstream s) {
  CUcontext of = nullptr;
  OK(cuStreamGetCtx(s, &of));
  const Current current(of);
  gate.arm(s);
}

void put_words(CUcontext owner, CUdeviceptr at, uint32_t value) {
  const Current current(owner);
  OK(cuMemsetD32(at, value, 16));
  OK(cuCtxSynchronize());
}

uint32_t get_word(CUcontext owner, CUdeviceptr at) {
  const Current current(owner);
  uint32_t value = 0;
  OK(cuMemcpyDtoH(&value, at, sizeof value));
  return value;
}

void rec_device(Rec& r, const std::string& key, CUdeviceptr p) {
  int device = -7;
  if (r.k(key, cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p)) ==
      CUDA_SUCCESS)
    r.k(key + ".is", device);
}

}  // namespace weir::conformance
