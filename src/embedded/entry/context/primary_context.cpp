// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/primary_context.cpp - cuDevicePrimaryCtx*: the context of each device that
// all libraries share.
#include "embedded/entry/context/context_flags.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return with_device(device, [&](model::device& owner) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult status = owner.retain_primary();
    if (status == CUDA_SUCCESS) *context = owner.primary().handle();
    return status;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return with_device(device, [](model::device& owner) { return owner.release_primary(); });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return with_device(device, [](model::device& owner) { return owner.reset_primary(); });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return with_device(device, [&](model::device& owner) {
    if (!valid_context_flags(flags, 0)) return CUDA_ERROR_INVALID_VALUE;
    owner.set_primary_flags(flags);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  // This error takes precedence over all others.
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_device(device, [&](model::device& owner) {
    *flags = owner.primary_flags();
    *active = owner.primary().alive() ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
