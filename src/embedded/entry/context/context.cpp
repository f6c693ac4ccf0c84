// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/context.cpp - cuCtx*: creation, the context stack of each thread, and
// operations on all work of a context.
#include "embedded/entry/context/context_flags.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

namespace {

// Looks up a context, which may be destroyed, because handles of contexts never become invalid.
CUresult find_context(model::process& p, CUcontext handle, model::context*& out) {
  out = p.contexts.find(handle);
  return out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

// Like find_context(); null stands for the current context.
CUresult find_context_or_current(model::process& p, CUcontext handle, model::context*& out) {
  if (handle != nullptr) return find_context(p, handle, out);
  out = model::this_thread().current();
  return out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

// Checks the parameters and flags of a new context. Null parameters stand for the defaults.
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

// Creates a context and pushes it on the calling thread's stack.
CUresult create_context(CUcontext* out, const CUctxCreateParams* params, unsigned flags,
                        CUdevice ordinal) {
  return with_device(ordinal, [&](model::device& device) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = check_creation(params, flags)) return error;
    // Both flags that enable core dumps are reported as CU_CTX_COREDUMP_ENABLE.
    constexpr unsigned user_coredump = CU_CTX_USER_COREDUMP_ENABLE;
    if ((flags & user_coredump) != 0) flags = (flags & ~user_coredump) | CU_CTX_COREDUMP_ENABLE;

    std::vector<model::context*>& stack = model::this_thread().stack;
    stack.reserve(stack.size() + 1);
    model::context* opened = nullptr;
    const CUresult status =
        open_object(model::this_process().contexts, out, [&](model::context& created) {
          opened = &created;
          return created.open(device, flags);
        });
    if (status == CUDA_SUCCESS) stack.push_back(opened);
    return status;
  });
}

// Looks up the arguments of cuCtxRecordEvent and cuCtxWaitEvent. Returns an error if one is not
// usable. A null context is an error and does not stand for the current context.
CUresult find_context_and_event(model::process& p, CUcontext context, CUevent event,
                                model::context*& target_context, model::event*& found_event) {
  if (const CUresult error = find_context(p, context, target_context)) return error;
  if (const CUresult error = target_context->status()) return error;
  return find_event(p, event, found_event);
}

}  // namespace

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags,
                        CUdevice device) {
  return create_context(context, params, flags, device);
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return create_context(context, nullptr, flags, device);
}

// Waits for the work of the context. Removes the context from the calling thread's stack if it is
// on top. In other positions and on other threads' stacks, the destroyed context stays.
CUresult cuCtxDestroy_v2(CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* found = nullptr;
    if (const CUresult error = find_context(p, context, found)) return error;
    if (found->primary() || found->green()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!found->close()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    model::thread_state& thread = model::this_thread();
    if (thread.current() == found) thread.stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* found = nullptr;
    if (const CUresult error = find_context(p, context, found)) return error;
    model::this_thread().stack.push_back(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return guarded_outside_host_functions([&](model::process&) {
    model::thread_state& thread = model::this_thread();
    if (thread.stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = thread.current()->handle();
    thread.stack.pop_back();
    return CUDA_SUCCESS;
  });
}

// Replaces the top of the calling thread's context stack. A null context removes the top.
CUresult cuCtxSetCurrent(CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) {
    std::vector<model::context*>& stack = model::this_thread().stack;
    if (context == nullptr) {
      if (!stack.empty()) stack.pop_back();
      return CUDA_SUCCESS;
    }
    model::context* found = nullptr;
    if (const CUresult error = find_context(p, context, found)) return error;
    if (stack.empty()) {
      stack.push_back(found);
    } else {
      stack.back() = found;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return guarded_outside_host_functions([&](model::process&) {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::context* const current = model::this_thread().current();
    *context = current != nullptr ? current->handle() : nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) { return cuCtxGetDevice_v2(device, nullptr); }

// Also works for a destroyed context.
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* found = nullptr;
    if (const CUresult error = find_context_or_current(p, context, found)) return error;
    *device = found->owner().ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* found = nullptr;
    if (const CUresult error = find_context_or_current(p, context, found)) return error;
    if (!found->alive()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = found->id();
    return CUDA_SUCCESS;
  });
}

// The API version of contexts has been 3020 since CUDA 3.2.
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  return guarded_outside_host_functions([&](model::process& p) {
    model::context* found = nullptr;
    if (const CUresult error = find_context_or_current(p, context, found)) return error;
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!found->alive())
      return context != nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() { return cuCtxSynchronize_v2(nullptr); }

CUresult cuCtxSynchronize_v2(CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) {
    model::context* found = nullptr;
    if (const CUresult error = find_context_or_current(p, context, found)) return error;
    if (const CUresult error = found->status()) return error;
    if (const CUresult error = model::check_context_not_capturing(*found)) return error;
    found->synchronize();
    return found->status();
  });
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  return guarded_outside_host_functions([&](model::process& p) {
    model::context* found = nullptr;
    model::event* recorded = nullptr;
    if (const CUresult error = find_context_and_event(p, context, event, found, recorded))
      return error;
    if (&recorded->owner() != &found->base()) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult error = model::check_context_not_capturing(*found)) return error;
    return found->record(*recorded);
  });
}

// The event may belong to another context.
CUresult cuCtxWaitEvent(CUcontext context, CUevent event) {
  return guarded_outside_host_functions([&](model::process& p) {
    model::context* found = nullptr;
    model::event* awaited = nullptr;
    if (const CUresult error = find_context_and_event(p, context, event, found, awaited))
      return error;
    if (const CUresult error = model::check_context_not_capturing(*found)) return error;
    if (const CUresult error = model::check_event_not_captured(*awaited)) return error;
    found->wait(awaited->recorded_point());
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
