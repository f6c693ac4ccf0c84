// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/external_memory.hpp - memory of another API or process, imported by file
// descriptor.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "os/shared_memory.hpp"

namespace weir::embedded::model {

class context;

// Imported memory. Objects are reused (handle_table.hpp). The members do not change during a
// lifetime.
struct external_memory {
  os::shared_memory segment;
  // The size that the program gave, which may exceed the size of the segment.
  std::size_t bytes = 0;
};

// Functions that return CUresult return the driver's codes and throw std::bad_alloc. Thread safety:
// all functions may be called from any thread.
namespace external {

// cuImportExternalMemory, for a descriptor of an exported allocation or a memfd. On success, closes
// the descriptor and seals the memory, so that no process can shrink it. Returns CUDA_ERROR_UNKNOWN
// for any other descriptor, and CUDA_ERROR_NOT_SUPPORTED for memory that cannot be sealed.
abi::CUresult import(int descriptor, std::size_t bytes, abi::CUexternalMemory* out);

// cuExternalMemoryGetMappedBuffer: maps the memory as device memory of the context, until
// cuMemFree. The mapping outlives the imported object.
abi::CUresult map(context& owner_context, abi::CUexternalMemory memory, std::size_t offset,
                  std::size_t bytes, abi::CUdeviceptr* out);

// cuDestroyExternalMemory.
abi::CUresult destroy(abi::CUexternalMemory memory);

// Unmaps a buffer that map() has mapped. `record` is the buffer's record in the address map. The
// caller has closed it (allocation::close()), so that no other thread finds or frees the buffer.
// `awaited`: the context for whose work the caller has waited.
void unmap(allocation& record, const context* awaited) noexcept;

}  // namespace external

}  // namespace weir::embedded::model
