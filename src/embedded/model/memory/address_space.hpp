// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/address_space.hpp - address ranges reserved by the program, and mappings in
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "driver/abi.hpp"

// Reserved addresses belong to no context and no device, and hold no memory until an allocation is
// mapped there. The address map then has a record of the mapping, which holds the access of
// streams.
//
// The functions below return the driver's codes and throw std::bad_alloc. Pointers to results must
// not be null. Thread safety: all functions may be called from any thread.
namespace weir::embedded::model::address_space {

// cuMemAddressReserve: reserves at `hint` if it is free, else anywhere. An alignment of 0 means the
// granularity (physical_memory.hpp).
abi::CUresult reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                      std::uintptr_t& out);

// cuMemAddressFree: frees a whole range that contains no mappings. Does not block; the addresses
// return to the system once all work enqueued before is done.
abi::CUresult free(std::uintptr_t start, std::size_t bytes);

// Returns true if an address lies in a reserved range.
[[nodiscard]] bool is_reserved(std::uintptr_t address);

// cuMemMap: maps a whole allocation into part of a range. Returns CUDA_ERROR_NOT_SUPPORTED for a
// part of an allocation.
abi::CUresult map(std::uintptr_t start_address, std::size_t bytes, std::size_t offset,
                  abi::CUmemGenericAllocationHandle memory);

// cuMemUnmap: unmaps whole mappings; the range may contain holes. Does not block.
abi::CUresult unmap(std::uintptr_t start_address, std::size_t bytes);

// cuMemSetAccess: sets the access of locations to whole, adjacent mappings.
abi::CUresult set_access(std::uintptr_t start_address, std::size_t bytes,
                         std::span<const abi::CUmemAccessDesc> requested);

// cuMemGetAccess, for memory of any kind.
abi::CUresult get_access(std::uintptr_t start_address, const abi::CUmemLocation& accessor,
                         abi::CUmemAccess_flags& out);

// Returns true if a device has this access to all mapped bytes from an address on.
[[nodiscard]] bool allows(int device, std::uintptr_t start_address, std::size_t bytes,
                          abi::CUmemAccess_flags requested);

// cuMemRetainAllocationHandle, for the allocation mapped at an address.
abi::CUresult retain(std::uintptr_t start_address, abi::CUmemGenericAllocationHandle* out);

}  // namespace weir::embedded::model::address_space
