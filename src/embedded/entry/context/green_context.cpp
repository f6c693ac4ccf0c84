// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/green_context.cpp - cuGreenCtx*: contexts that are restricted to a part of
// their device.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

namespace {

// Looks up a green context and calls the body with it. The green context and its CUcontext have
// equal handles.
template <class Body>
CUresult with_green(CUgreenCtx handle, Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) {
    model::context* const found = p.contexts.find(handle);
    if (found == nullptr || !found->green()) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult error = found->status()) return error;
    return body(*found);
  });
}

CUgreenCtx green_handle(const model::context& context) {
  return context.green() ? reinterpret_cast<CUgreenCtx>(context.handle()) : nullptr;
}

CUcontext context_handle(CUgreenCtx green) { return reinterpret_cast<CUcontext>(green); }

CUresult write_part(const model::device_resource& part, CUdevResource* resource,
                    CUdevResourceType type) {
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  part.write(*resource);
  return CUDA_SUCCESS;
}

// Creates a green context, which retains the primary context of its device. Throws std::bad_alloc.
CUresult open_green(model::process& p, const model::device_resource& part, CUgreenCtx* out) {
  model::device& target_device = *part.owner;
  if (const CUresult error = target_device.retain_primary_for_green()) return error;
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    status = open_object(p.contexts, out, [&](model::context& created) {
      return created.open_green(target_device.primary(), part);
    });
  } catch (...) {
    target_device.release_primary_for_green();
    throw;
  }
  if (status != CUDA_SUCCESS) target_device.release_primary_for_green();
  return status;
}

}  // namespace

// A null `desc` gives the green context the whole device.
CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc desc, CUdevice ordinal,
                          unsigned flags) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (green == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::device* const device = p.find_device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    if (desc == nullptr) return open_green(p, model::device_resource::whole(*device), green);
    const model::resource_desc* const found = p.resource_descs.find(desc);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found->part.owner != device) return CUDA_ERROR_INVALID_DEVICE;
    return open_green(p, found->part, green);
  });
}

CUresult cuGreenCtxDestroy(CUgreenCtx green) {
  return with_green(green, [](model::context& found) {
    if (!found.close_green()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    found.owner().release_primary_for_green();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_green(green, [&](const model::context& found) {
    *context = found.handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource* resource,
                                  CUdevResourceType type) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_green(
      green, [&](const model::context& found) { return write_part(found.part(), resource, type); });
}

// A null context is an error and does not stand for the current context.
CUresult cuCtxGetDevResource(CUcontext context, CUdevResource* resource, CUdevResourceType type) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return guarded_outside_host_functions([&](model::process& p) {
    model::context* const found = p.contexts.find(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult error = found->status()) return error;
    return write_part(
        found->green() ? found->part() : model::device_resource::whole(found->owner()), resource,
        type);
  });
}

// A null green context stands for the current context, if that is green.
CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (green == nullptr) {
    if (const model::context* const current = model::this_thread().current())
      green = green_handle(*current);
  }
  return with_green(green, [&](const model::context& found) {
    *id = found.id();
    return CUDA_SUCCESS;
  });
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
  return with_green(
      green, [&](model::context&) { return cuCtxRecordEvent(context_handle(green), event); });
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
  return with_green(green,
                    [&](model::context&) { return cuCtxWaitEvent(context_handle(green), event); });
}

// Does not depend on the current context. All streams of a green context are non-blocking, and the
// program must pass CU_STREAM_NON_BLOCKING.
CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx green, unsigned flags, int priority) {
  return with_green(green, [&](model::context& found) {
    if (stream == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    return open_stream(found, flags, priority, stream);
  });
}

CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* green) {
  return guarded([&](model::process& p) {
    if (green == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult error = find_stream(p, stream, found)) return error;
    *green = green_handle(found->owner());
    return CUDA_SUCCESS;
  });
}

// Returns the primary context even for a stream of a green context, unlike cuStreamGetCtx.
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  return guarded([&](model::process& p) {
    if (context == nullptr && green == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult error = find_stream(p, stream, found)) return error;
    if (context != nullptr) *context = found->owner().base().handle();
    if (green != nullptr) *green = green_handle(found->owner());
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
