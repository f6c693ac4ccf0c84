// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/ipc.cpp - cuIpc*, cuMemPoolExport*, cuMemPoolImport*: events, memory and
// pools shared between processes.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/ipc/ipc_memory.hpp"
#include "embedded/model/ipc/ipc_pool.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

#include <cstdint>
#include <cstring>

namespace weir::embedded::entry {

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  return guarded_outside_host_functions([&] {
    if (handle == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    model::event* found = nullptr;
    if (const CUresult error = find_event(event, found)) return error;
    return found->get_ipc_handle(*handle);
  });
}

CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
  return guarded_outside_host_functions([&] {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return open_object(model::this_process().events, event,
                       [&](model::event& opened) { return opened.open(context->base(), handle); });
  });
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return guarded_outside_host_functions([&] {
    if (handle == nullptr || address == 0) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return model::ipc_memory::handle_of(address, *handle);
  });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return guarded_outside_host_functions([&] {
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

CUresult cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  return guarded_outside_captures([&] {
    model::memory_pool* found = model::pool_registry::find(pool);
    const bool known_way = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && flags == 0;
    if (found == nullptr || handle == nullptr || !known_way) return CUDA_ERROR_INVALID_VALUE;
    int fd = -1;
    if (const CUresult error = found->sharing.export_descriptor(fd)) return error;
    std::memcpy(handle, &fd, sizeof fd);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  return guarded_outside_captures([&] {
    if (pool == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    switch (type) {
      case CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return model::ipc_pool::import(static_cast<int>(reinterpret_cast<std::intptr_t>(handle)),
                                       *pool);
      case CU_MEM_HANDLE_TYPE_WIN32: return CUDA_ERROR_NOT_SUPPORTED;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  return guarded_outside_captures([&] {
    return data == nullptr ? CUDA_ERROR_INVALID_VALUE : model::ipc_pool::describe(address, *data);
  });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool pool,
                                CUmemPoolPtrExportData* data) {
  return guarded_outside_captures([&] {
    model::memory_pool* found = model::pool_registry::find(pool);
    if (address == nullptr || found == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return found->sharing.open(*data, *found, *address);
  });
}

}  // namespace weir::embedded::entry
