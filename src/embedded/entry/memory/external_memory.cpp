// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/external_memory.cpp - cuImportExternalMemory and mappings of the imported
// memory.
#include "embedded/model/ipc/external_memory.hpp"

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

namespace external = model::external;

CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* descriptor) {
  return guarded_in_context_outside_captures([&](model::context&) {
    if (memory == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (descriptor->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (descriptor->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
        (descriptor->flags & ~CUDA_EXTERNAL_MEMORY_DEDICATED) != 0 ||
        !are_all_zero(descriptor->reserved)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return external::import(descriptor->handle.fd, descriptor->size, memory);
  });
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* address, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* descriptor) {
  return guarded_outside_host_functions(with_current_context([&](model::context& context) {
    if (address == nullptr || descriptor == nullptr || descriptor->flags != 0 ||
        !are_all_zero(descriptor->reserved)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return external::map(context.base(), memory, descriptor->offset, descriptor->size, address);
  }));
}

CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  return guarded_outside_captures([&] { return external::destroy(memory); });
}

}  // namespace weir::embedded::entry
