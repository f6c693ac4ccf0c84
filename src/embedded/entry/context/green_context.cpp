// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/green_context.cpp - cuGreenCtx*: contexts that are restricted to a part of
// their device. cuDeviceGetDevResource, cuDevSmResourceSplitByCount, cuDevResourceGenerateDesc:
// parts of devices.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/core/device_resource.hpp"

#include <algorithm>
#include <vector>

namespace weir::embedded::entry {

namespace {

// Looks up a green context and calls the body with it. The green context and its CUcontext have
// equal handles.
template <class Body>
CUresult with_green(CUgreenCtx handle, Body&& body) noexcept {
  return guarded_outside_host_functions([&] {
    model::context* const found = model::this_process().contexts.find(handle);
    if (found == nullptr || !found->green()) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult error = found->status()) return error;
    return body(*found);
  });
}

CUgreenCtx green_handle(const model::context& context) {
  return context.green() ? reinterpret_cast<CUgreenCtx>(context.handle()) : nullptr;
}

CUcontext context_handle(CUgreenCtx green) { return reinterpret_cast<CUcontext>(green); }

// Stores the part of its device that the context may use: all of it, unless the context is green.
CUresult get_resource(const model::context& context, CUdevResource* resource,
                      CUdevResourceType type) {
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  const auto part =
      context.green() ? context.part() : model::device_resource::whole(context.owner());
  part.write(*resource);
  return CUDA_SUCCESS;
}

// Creates a green context, which retains the primary context of its device. Throws std::bad_alloc.
CUresult open_green(const model::device_resource& part, CUgreenCtx* out) {
  model::device& target_device = *part.owner;
  if (const CUresult error = target_device.retain_primary_for_green()) return error;
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    status = open_object(model::this_process().contexts, out, [&](model::context& created) {
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
  return guarded_outside_host_functions([&] {
    if (green == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::device* const device = model::this_process().find_device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    if (desc == nullptr) return open_green(model::device_resource::whole(*device), green);
    const model::resource_desc* const found = model::this_process().resource_descs.find(desc);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found->part.owner != device) return CUDA_ERROR_INVALID_DEVICE;
    return open_green(found->part, green);
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
  return with_green(green,
                    [&](const model::context& found) { return store(context, found.handle()); });
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource* resource,
                                  CUdevResourceType type) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_green(
      green, [&](const model::context& found) { return get_resource(found, resource, type); });
}

// A null context is an error and does not stand for the current context.
CUresult cuCtxGetDevResource(CUcontext context, CUdevResource* resource, CUdevResourceType type) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return guarded_outside_host_functions([&] {
    model::context* const found = model::this_process().contexts.find(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult error = found->status()) return error;
    return get_resource(*found, resource, type);
  });
}

// A null green context stands for the current context, if that is green.
CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (green == nullptr) {
    if (const model::context* const current = model::this_thread().current())
      green = green_handle(*current);
  }
  return with_green(green, [&](const model::context& found) { return store(id, found.id()); });
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
  return guarded([&] {
    if (green == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult error = find_stream(stream, found)) return error;
    if (const CUresult error = model::check_capture_valid(*found)) return error;
    return store(green, green_handle(found->owner()));
  });
}

// Returns the primary context even for a stream of a green context, unlike cuStreamGetCtx.
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  return guarded([&] {
    if (context == nullptr && green == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult error = find_stream(stream, found)) return error;
    if (const CUresult error = model::check_capture_valid(*found)) return error;
    if (context != nullptr) *context = found->owner().base().handle();
    if (green != nullptr) *green = green_handle(found->owner());
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* resource, CUdevResourceType type) {
  return with_device(ordinal, [&](model::device& device) {
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    model::device_resource::whole(device).write(*resource);
    return CUDA_SUCCESS;
  });
}

// Divides a part of a device into at most `*group_count` groups, and stores their number and,
// unless `rest` is null, the rest. If `groups` is null, only stores the largest possible number of
// groups.
CUresult cuDevSmResourceSplitByCount(CUdevResource* groups, unsigned* group_count,
                                     const CUdevResource* input, CUdevResource* rest,
                                     unsigned flags, unsigned least) {
  return guarded_outside_host_functions([&] {
    if (input == nullptr || group_count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const auto whole = model::device_resource::read(*input);
    if (!whole) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    model::sm_split split;
    if (const CUresult error = model::split_by_count(*whole, least, flags, split)) return error;
    if (groups == nullptr) {
      *group_count = split.groups;
      return CUDA_SUCCESS;
    }
    const unsigned used_groups = std::min(*group_count, split.groups);
    if (used_groups == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < used_groups; ++i) split.group.write(groups[i]);
    if (rest != nullptr) model::remaining_after(*whole, split, used_groups).write(*rest);
    *group_count = used_groups;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* desc, CUdevResource* resources,
                                   unsigned count) {
  return guarded_outside_host_functions([&] {
    if (desc == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    std::vector<model::device_resource> parts;
    for (unsigned i = 0; i < count; ++i) {
      if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
      const auto part = model::device_resource::read(resources[i]);
      if (!part) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      parts.push_back(*part);
    }
    model::device_resource whole;
    if (const CUresult error = model::merge_parts(parts, whole)) return error;
    auto& table = model::this_process().resource_descs;
    model::resource_desc* const created = table.acquire();
    created->part = whole;
    return store(desc, static_cast<CUdevResourceDesc>(table.publish(created)));
  });
}

}  // namespace weir::embedded::entry
