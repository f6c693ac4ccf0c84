// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/context.cpp - cuCtx*: creation, the context stack of each thread, and
// operations on all work of a context.
#include "embedded/entry/context/context_flags.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

namespace {

// Returns the context of a handle, or the current context for a null handle; null if there is none.
// The context may be destroyed, because handles of contexts never become invalid.
model::context* find_context_or_current(CUcontext handle) {
  return handle != nullptr ? model::this_process().contexts.find(handle)
                           : model::this_thread().current();
}

// Checks the parameters and flags of a new context. Null parameters stand for the defaults.
// cigParams shares the context with a Direct3D 12 queue, which Linux does not have.
CUresult check_creation(const CUctxCreateParams* params, unsigned flags) {
  if (params != nullptr && params->numExecAffinityParams > 0) {
    return params->execAffinityParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                 : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  }
  if (!valid_context_flags(flags, CU_CTX_MAP_HOST)) return CUDA_ERROR_INVALID_VALUE;
  if (params == nullptr || params->cigParams == nullptr) return CUDA_SUCCESS;
  return params->cigParams->sharedDataType == CIG_DATA_TYPE_D3D12_COMMAND_QUEUE
             ? CUDA_ERROR_NOT_SUPPORTED
             : CUDA_ERROR_INVALID_VALUE;
}

// Runs body(context) with the context of cuCtxRecordEvent or cuCtxWaitEvent. A null context is an
// error and does not stand for the current context.
template <class Body>
CUresult with_named_context(CUcontext context, Body&& body) {
  return guarded_outside_host_functions([&] {
    model::context* const target_context = model::this_process().contexts.find(context);
    if (target_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult error = target_context->status()) return error;
    return body(*target_context);
  });
}

}  // namespace

// Also pushes the context on the calling thread's stack.
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags,
                        CUdevice ordinal) {
  return with_device(ordinal, [&](model::device& device) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = check_creation(params, flags)) return error;
    // Both flags that enable core dumps are reported as CU_CTX_COREDUMP_ENABLE.
    constexpr unsigned user_coredump = CU_CTX_USER_COREDUMP_ENABLE;
    if ((flags & user_coredump) != 0) flags = (flags & ~user_coredump) | CU_CTX_COREDUMP_ENABLE;

    std::vector<model::context*>& stack = model::this_thread().stack;
    stack.reserve(stack.size() + 1);  // so that push_back() below cannot throw
    model::context* opened = nullptr;
    const CUresult status =
        open_object(model::this_process().contexts, context, [&](model::context& created) {
          opened = &created;
          return created.open(device, flags);
        });
    if (status == CUDA_SUCCESS) stack.push_back(opened);
    return status;
  });
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}

// Waits for the work of the context. Removes the context from the calling thread's stack if it is
// on top. In other positions and on other threads' stacks, the destroyed context stays.
CUresult cuCtxDestroy_v2(CUcontext context) {
  return guarded_outside_host_functions([&] {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* const found = model::this_process().contexts.find(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (found->primary() || found->green()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!found->close()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    model::thread_state& thread = model::this_thread();
    if (thread.current() == found) thread.stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return guarded_outside_host_functions([&] {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* const found = model::this_process().contexts.find(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    model::this_thread().stack.push_back(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return guarded_outside_host_functions([&] {
    model::thread_state& thread = model::this_thread();
    if (thread.stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = thread.current()->handle();
    thread.stack.pop_back();
    return CUDA_SUCCESS;
  });
}

// Replaces the top of the calling thread's context stack. A null context removes the top.
CUresult cuCtxSetCurrent(CUcontext context) {
  return guarded_outside_host_functions([&] {
    model::context* const found = model::this_process().contexts.find(context);
    if (context != nullptr && found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    std::vector<model::context*>& stack = model::this_thread().stack;
    if (!stack.empty()) stack.pop_back();
    if (found != nullptr) stack.push_back(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return guarded_outside_host_functions([&] {
    const model::context* const current = model::this_thread().current();
    return store(context, current != nullptr ? current->handle() : nullptr);
  });
}

CUresult cuCtxGetDevice(CUdevice* device) { return cuCtxGetDevice_v2(device, nullptr); }

// Also works for a destroyed context.
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  return guarded_outside_host_functions([&] {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* const found = find_context_or_current(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *device = found->owner().ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return guarded_outside_host_functions([&] {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* const found = find_context_or_current(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!found->alive()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = found->id();
    return CUDA_SUCCESS;
  });
}

// The API version of contexts has been 3020 since CUDA 3.2.
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  return guarded_outside_host_functions([&] {
    model::context* const found = find_context_or_current(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!found->alive())
      return context != nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() { return cuCtxSynchronize_v2(nullptr); }

CUresult cuCtxSynchronize_v2(CUcontext context) {
  return guarded_outside_host_functions([&] {
    model::context* const found = find_context_or_current(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult error = found->status()) return error;
    if (const CUresult error = model::check_context_not_capturing(*found)) return error;
    found->synchronize();
    return found->status();
  });
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  return with_named_context(context, [&](model::context& found) {
    model::event* recorded = nullptr;
    if (const CUresult error = find_event(event, recorded)) return error;
    if (&recorded->owner() != &found.base()) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult error = model::check_context_not_capturing(found)) return error;
    return found.record(*recorded);
  });
}

// The event may belong to another context. As on an H200, a capture in the context fails the call
// before an invalid event does.
CUresult cuCtxWaitEvent(CUcontext context, CUevent event) {
  return with_named_context(context, [&](model::context& found) {
    if (const CUresult error = model::check_context_not_capturing(found)) return error;
    model::event* awaited = nullptr;
    if (const CUresult error = find_event(event, awaited)) return error;
    if (const CUresult error = model::check_event_not_captured(*awaited)) return error;
    found.wait(awaited->recorded_point());
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
