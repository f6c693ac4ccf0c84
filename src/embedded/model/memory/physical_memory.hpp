// model/physical_memory.hpp - memory without addresses: what cuMemCreate makes.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/model/ipc/shared_memory.hpp"

namespace weir::embedded::model {

class device;

// Memory that may be mapped into reserved ranges (address_space.hpp), as often as one likes, and by
// other processes that were given its descriptor. It lives while somebody has a handle or a mapping
// of it. Only what was made to be given to others has a descriptor of the process's: there are not
// many of them.
//
// Objects are reused (handle_table.hpp). What is counted is guarded by the lock of the physical
// memory; the rest does not change while it lives.
struct physical_memory {
  shared_pages pages;
  shared_memory segment;  // that they are the first of, where it may be exported
  std::size_t bytes = 0;
  abi::CUmemAllocationProp properties{};
  device* on =
      nullptr;  // whose memory it counts against; null: host memory, or another's that was imported
  std::size_t handles = 0;
  std::size_t mappings = 0;
};

// What follows answers in the driver's codes and throws std::bad_alloc. Thread safety: all of it,
// from any thread.
namespace physical {

// Sizes and offsets of allocations, addresses and sizes of mappings are multiples of this.
inline constexpr std::size_t granularity = std::size_t{2} << 20;

// cuMemCreate.
abi::CUresult create(std::size_t bytes, const abi::CUmemAllocationProp& wanted,
                     abi::CUmemGenericAllocationHandle* out);

// cuMemRelease: one handle less.
abi::CUresult release(abi::CUmemGenericAllocationHandle handle);

// cuMemGetAllocationPropertiesFromHandle.
abi::CUresult get_properties(abi::CUmemGenericAllocationHandle handle,
                             abi::CUmemAllocationProp& out);

// cuMemExportToShareableHandle and cuMemImportFromShareableHandle, with file descriptors. The
// importer keeps its own; CUDA_ERROR_UNKNOWN for one that is not of such memory.
abi::CUresult export_descriptor(abi::CUmemGenericAllocationHandle handle, int* out);
abi::CUresult import_descriptor(int descriptor, abi::CUmemGenericAllocationHandle* out);

// For mappings: what a handle stands for, counted as mapped; null where there is nothing.
// release_mapping() ends that.
[[nodiscard]] physical_memory* acquire_mapping(abi::CUmemGenericAllocationHandle handle) noexcept;
void release_mapping(physical_memory& mapped) noexcept;

// One more handle of memory that is mapped: the one that there is, or a new one where all were
// released.
[[nodiscard]] abi::CUmemGenericAllocationHandle retain(physical_memory& mapped) noexcept;

}  // namespace physical

}  // namespace weir::embedded::model
