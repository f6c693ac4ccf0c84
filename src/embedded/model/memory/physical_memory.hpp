// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/physical_memory.hpp - memory without addresses, made by cuMemCreate.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "os/shared_memory.hpp"

namespace weir::embedded::model {

class device;

[[nodiscard]] inline bool same_location(const abi::CUmemLocation& a,
                                        const abi::CUmemLocation& b) noexcept {
  return a.type == b.type && a.id == b.id;
}

// Memory that can be mapped into reserved ranges (address_space.hpp) any number of times, also by
// other processes that received its descriptor. It exists while a handle or mapping exists. Only
// exportable memory has a file descriptor, because a process has few of them.
//
// Objects are reused (handle_table.hpp). A lock in physical_memory.cpp guards `handles` and
// `mappings`. The other members do not change during a lifetime.
struct physical_memory {
  os::shared_pages pages;
  os::shared_memory segment;  // exportable memory only: the segment that begins with `pages`
  abi::CUmemAllocationProp properties{};
  // The device whose memory it counts against; null for host memory and for memory imported from
  // another process.
  device* memory_device = nullptr;
  // The number of references by cuMemCreate, cuMemImport* and cuMemRetainAllocationHandle. They
  // share one handle.
  std::size_t handles = 0;
  std::size_t mappings = 0;
};

// Functions that return CUresult return the driver's codes and throw std::bad_alloc. Thread safety:
// all functions may be called from any thread.
namespace physical {

// The size of an allocation, and the address and size of a mapping, are multiples of this number of
// bytes.
inline constexpr std::size_t granularity = std::size_t{2} << 20;

// cuMemCreate.
abi::CUresult create(std::size_t bytes, const abi::CUmemAllocationProp& requested,
                     abi::CUmemGenericAllocationHandle* out);

// cuMemRelease: releases one reference to the handle. The handle becomes invalid with the last one.
abi::CUresult release(abi::CUmemGenericAllocationHandle handle);

// cuMemGetAllocationPropertiesFromHandle.
abi::CUresult get_properties(abi::CUmemGenericAllocationHandle handle,
                             abi::CUmemAllocationProp& out);

// cuMemExportToShareableHandle: creates a file descriptor of the memory, owned by the caller.
abi::CUresult export_descriptor(abi::CUmemGenericAllocationHandle handle, int* out);
// cuMemImportFromShareableHandle, for a file descriptor, which the caller still owns afterwards.
// Returns CUDA_ERROR_UNKNOWN if the descriptor is not that of an exported allocation.
abi::CUresult import_descriptor(int descriptor, abi::CUmemGenericAllocationHandle* out);

// Returns the memory of a handle and counts a mapping of it. Returns null for an invalid handle.
[[nodiscard]] physical_memory* acquire_mapping(abi::CUmemGenericAllocationHandle handle) noexcept;
// Ends the count of a mapping. Frees the memory if no handle and no other mapping exists.
void release_mapping(physical_memory& mapped) noexcept;

// Returns a handle of mapped memory and counts a reference to it. Returns the existing handle, or a
// new one if the program has released it.
[[nodiscard]] abi::CUmemGenericAllocationHandle retain(physical_memory& mapped) noexcept;

}  // namespace physical

}  // namespace weir::embedded::model
