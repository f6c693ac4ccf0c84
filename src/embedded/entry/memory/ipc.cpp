// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/ipc.cpp - cuIpc*: events and memory shared between processes.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/ipc/ipc_memory.hpp"

namespace weir::embedded::entry {

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (handle == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    model::event* found = nullptr;
    if (const CUresult error = find_event(p, event, found)) return error;
    return found->get_ipc_handle(*handle);
  });
}

CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return open_object(p.events, event,
                       [&](model::event& opened) { return opened.open(context->base(), handle); });
  });
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return guarded_outside_host_functions([&](model::process&) {
    if (handle == nullptr || address == 0) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return model::ipc_memory::handle_of(address, *handle);
  });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return guarded_outside_host_functions([&](model::process&) {
    // This flag is required. Like an H200, the embedded driver ignores all other bits.
    if (address == nullptr || (flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == 0)
      return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return model::ipc_memory::open(context->base(), handle, *address);
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return guarded_outside_host_functions(
      with_current_context([&](model::context&) { return model::ipc_memory::close(address); }));
}

}  // namespace weir::embedded::entry
