// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/context.cpp - cuCtx*: creation, the context stack of each thread, and
// operations on all work of a context.
#include "embedded/entry/context/context_flags.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

namespace {

// Looks up a context, which may be destroyed.
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

CUresult create_context(CUcontext* out, const CUctxCreateParams* params, unsigned flags,
                        CUdevice ordinal) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::device* const device = p.find_device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (params != nullptr && params->numExecAffinityParams > 0) {
      return params->execAffinityParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                   : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    if (!valid_context_flags(flags, CU_CTX_MAP_HOST)) return CUDA_ERROR_INVALID_VALUE;
    if (params != nullptr && params->cigParams != nullptr) {
      const bool is_valid = params->cigParams->sharedDataType == CIG_DATA_TYPE_D3D12_COMMAND_QUEUE;
      return is_valid ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    }
    // Both flags that enable core dumps are reported as CU_CTX_COREDUMP_ENABLE.
    if ((flags & CU_CTX_USER_COREDUMP_ENABLE) != 0) {
      flags =
          (flags & ~static_cast<unsigned>(CU_CTX_USER_COREDUMP_ENABLE)) | CU_CTX_COREDUMP_ENABLE;
    }

    std::vector<model::context*>& stack = model::this_thread().stack;
    stack.reserve(stack.size() + 1);
    model::context* const created = p.contexts.acquire();
    try {
      if (const CUresult status = created->open(*device, false, flags); status != CUDA_SUCCESS) {
        p.contexts.recycle(created);
        return status;
      }
    } catch (...) {
      p.contexts.recycle(created);
      throw;
    }
    *out = static_cast<CUcontext>(p.contexts.publish(created));
    stack.push_back(created);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags,
                        CUdevice device) {
  return create_context(context, params, flags, device);
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return create_context(context, nullptr, flags, device);
}

// Returns when the work of the context is done. Pops the context if it is on top of the calling
// thread's stack; in any other position it stays there, destroyed.
CUresult cuCtxDestroy_v2(CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* found = nullptr;
    if (const CUresult status = find_context(p, context, found); status != CUDA_SUCCESS)
      return status;
    if (found->primary() || found->green()) return CUDA_ERROR_INVALID_CONTEXT;
    if (!found->close()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    model::thread_state& thread = model::this_thread();
    if (thread.current() == found) thread.stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* found = nullptr;
    if (const CUresult status = find_context(p, context, found); status != CUDA_SUCCESS)
      return status;
    model::this_thread().stack.push_back(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    model::thread_state& thread = model::this_thread();
    if (thread.stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = thread.current()->handle();
    thread.stack.pop_back();
    return CUDA_SUCCESS;
  });
}

// Replaces the top of the stack. Null pops it.
CUresult cuCtxSetCurrent(CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    std::vector<model::context*>& stack = model::this_thread().stack;
    if (context == nullptr) {
      if (!stack.empty()) stack.pop_back();
      return CUDA_SUCCESS;
    }
    model::context* found = nullptr;
    if (const CUresult status = find_context(p, context, found); status != CUDA_SUCCESS)
      return status;
    if (stack.empty()) {
      stack.push_back(found);
    } else {
      stack.back() = found;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::context* const current = model::this_thread().current();
    *context = current != nullptr ? current->handle() : nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) { return cuCtxGetDevice_v2(device, nullptr); }

// Also works for a destroyed context.
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* found = nullptr;
    if (const CUresult status = find_context_or_current(p, context, found); status != CUDA_SUCCESS)
      return status;
    *device = found->owner().ordinal();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* found = nullptr;
    if (const CUresult status = find_context_or_current(p, context, found); status != CUDA_SUCCESS)
      return status;
    if (!found->alive()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = found->id();
    return CUDA_SUCCESS;
  });
}

// 3020 has been the API version of contexts since CUDA 3.2.
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::context* found = nullptr;
    if (const CUresult status = find_context_or_current(p, context, found); status != CUDA_SUCCESS)
      return status;
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!found->alive())
      return context != nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() { return cuCtxSynchronize_v2(nullptr); }

CUresult cuCtxSynchronize_v2(CUcontext context) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::context* found = nullptr;
    if (const CUresult status = find_context_or_current(p, context, found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = found->status(); status != CUDA_SUCCESS) return status;
    if (const CUresult status = model::check_context_not_capturing(*found); status != CUDA_SUCCESS)
      return status;
    found->synchronize();
    return found->status();
  });
}

// These two functions need a context argument: null does not stand for the current context.
CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::context* found = nullptr;
    if (const CUresult status = find_context(p, context, found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = found->status(); status != CUDA_SUCCESS) return status;
    model::event* recorded = nullptr;
    if (const CUresult status = find_event(p, event, recorded); status != CUDA_SUCCESS)
      return status;
    if (&recorded->owner() != &found->base()) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult status = model::check_context_not_capturing(*found); status != CUDA_SUCCESS)
      return status;
    return found->record(*recorded);
  });
}

// The event may belong to another context.
CUresult cuCtxWaitEvent(CUcontext context, CUevent event) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::context* found = nullptr;
    if (const CUresult status = find_context(p, context, found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = found->status(); status != CUDA_SUCCESS) return status;
    model::event* awaited = nullptr;
    if (const CUresult status = find_event(p, event, awaited); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_context_not_capturing(*found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_event_not_captured(*awaited); status != CUDA_SUCCESS)
      return status;
    found->wait(awaited->recorded_point());
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
