// entry/context.cpp - cuCtx*: contexts of one's own, the stack of each thread, and what concerns
// all work of a context.
#include "embedded/entry/context/context_flags.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

namespace {

// The context behind a handle, alive or not.
CUresult find_context(model::process& p, CUcontext handle, model::context*& out) {
  out = p.contexts.find(handle);
  return out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

// The same, or the current one for null.
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
      const bool known = params->cigParams->sharedDataType == CIG_DATA_TYPE_D3D12_COMMAND_QUEUE;
      return known ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    }
    // Either way of asking for core dumps is answered as the first.
    if ((flags & CU_CTX_USER_COREDUMP_ENABLE) != 0) {
      flags =
          (flags & ~static_cast<unsigned>(CU_CTX_USER_COREDUMP_ENABLE)) | CU_CTX_COREDUMP_ENABLE;
    }

    std::vector<model::context*>& stack = model::this_thread().stack;
    stack.reserve(stack.size() + 1);
    model::context* const made = p.contexts.acquire();
    try {
      if (const CUresult status = made->open(*device, false, flags); status != CUDA_SUCCESS) {
        p.contexts.recycle(made);
        return status;
      }
    } catch (...) {
      p.contexts.recycle(made);
      throw;
    }
    *out = static_cast<CUcontext>(p.contexts.publish(made));
    stack.push_back(made);
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

// Returns once its work is done. Leaves the calling thread's stack if it is on top; elsewhere it
// stays, destroyed.
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

// Takes the place of the top of the stack; null takes the top away.
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

// A destroyed context still knows its device.
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

// 3020 is the version that contexts have had ever since.
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

// These two name their context: null is none, and not the current one.
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

// The event may be of another context.
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
