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
// Objects are reused (handle_table.hpp). The lock of the physical memory guards the counts; the
// other members do not change.
struct physical_memory {
  os::shared_pages pages;
  os::shared_memory segment;  // exportable memory only: the segment that begins with `pages`
  std::size_t bytes = 0;
  abi::CUmemAllocationProp properties{};
  // The device whose memory it counts against; null for host memory and for memory imported from
  // another process.
  device* memory_device = nullptr;
  std::size_t handles = 0;
  std::size_t mappings = 0;
};

// The functions below return the driver's codes and throw std::bad_alloc. Thread safety: all
// functions may be called from any thread.
namespace physical {

// Sizes and offsets of allocations, and addresses and sizes of mappings, are multiples of this many
// bytes.
inline constexpr std::size_t granularity = std::size_t{2} << 20;

// cuMemCreate.
abi::CUresult create(std::size_t bytes, const abi::CUmemAllocationProp& requested,
                     abi::CUmemGenericAllocationHandle* out);

// cuMemRelease: releases one handle.
abi::CUresult release(abi::CUmemGenericAllocationHandle handle);

// cuMemGetAllocationPropertiesFromHandle.
abi::CUresult get_properties(abi::CUmemGenericAllocationHandle handle,
                             abi::CUmemAllocationProp& out);

// cuMemExportToShareableHandle and cuMemImportFromShareableHandle, with file descriptors. The
// caller keeps an imported descriptor. Returns CUDA_ERROR_UNKNOWN for a descriptor of other memory.
abi::CUresult export_descriptor(abi::CUmemGenericAllocationHandle handle, int* out);
abi::CUresult import_descriptor(int descriptor, abi::CUmemGenericAllocationHandle* out);

// acquire_mapping() returns the memory of a handle, or null, and counts a mapping.
// release_mapping() releases that mapping.
[[nodiscard]] physical_memory* acquire_mapping(abi::CUmemGenericAllocationHandle handle) noexcept;
void release_mapping(physical_memory& mapped) noexcept;

// Returns a handle of mapped memory and counts it: the existing handle, or a new one if all were
// released.
[[nodiscard]] abi::CUmemGenericAllocationHandle retain(physical_memory& mapped) noexcept;

}  // namespace physical

}  // namespace weir::embedded::model
