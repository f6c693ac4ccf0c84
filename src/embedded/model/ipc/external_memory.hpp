// model/external_memory.hpp - memory of another interface or process, that came as a file
// descriptor.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/model/ipc/shared_memory.hpp"
#include "embedded/model/memory/allocation.hpp"

namespace weir::embedded::model {

class context;

// Objects are reused (handle_table.hpp); what is here does not change while it lives.
struct external_memory {
  shared_memory segment;
  std::size_t bytes = 0;  // as the importer said, who may be wrong
};

// What follows answers in the driver's codes and throws std::bad_alloc. Thread safety: all of it,
// from any thread.
namespace external {

// cuImportExternalMemory, of a descriptor of memory: an allocation that was made to be shared, or a
// memfd. On success the descriptor is ours, and the memory is sealed: nobody can make it smaller
// any more. CUDA_ERROR_UNKNOWN for a descriptor of something else, CUDA_ERROR_NOT_SUPPORTED for
// memory that cannot be sealed.
abi::CUresult import(int descriptor, std::size_t bytes, abi::CUexternalMemory* out);

// cuExternalMemoryGetMappedBuffer: device memory of the context, until it is freed with cuMemFree;
// it outlives what it was mapped from.
abi::CUresult map(context& in, abi::CUexternalMemory memory, std::size_t offset, std::size_t bytes,
                  abi::CUdeviceptr* out);

// cuDestroyExternalMemory.
abi::CUresult destroy(abi::CUexternalMemory memory);

// Takes a mapped buffer out of the process. Its record is closed.
void unmap(allocation& record) noexcept;

}  // namespace external

}  // namespace weir::embedded::model
