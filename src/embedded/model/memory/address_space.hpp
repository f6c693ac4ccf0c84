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
// Functions that return CUresult return the driver's codes. All functions may throw std::bad_alloc.
// Pointers to results must not be null. Thread safety: all functions may be called from any thread.
namespace weir::embedded::model::address_space {

// cuMemAddressReserve: reserves addresses at `hint` if they are free, else anywhere. `hint` and
// `alignment` may be 0. An alignment below physical::granularity means that granularity.
abi::CUresult reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                      std::uintptr_t& out);

// cuMemAddressFree: frees a whole range that contains no mappings. Does not block. The addresses
// return to the system once all work that was enqueued before the call is complete.
abi::CUresult free(std::uintptr_t start, std::size_t bytes);

// Returns true if an address lies in a reserved range.
[[nodiscard]] bool is_reserved(std::uintptr_t address);

// cuMemMap: maps a whole allocation into part of a range. Returns CUDA_ERROR_NOT_SUPPORTED for a
// part of an allocation.
abi::CUresult map(std::uintptr_t start_address, std::size_t bytes, std::size_t offset,
                  abi::CUmemGenericAllocationHandle memory);

// cuMemUnmap: unmaps all mappings in a part of a range, which may also contain unmapped addresses.
// A mapping that extends beyond the part is an error. Does not block. Work that still uses the
// addresses makes the device fail.
abi::CUresult unmap(std::uintptr_t start_address, std::size_t bytes);

// cuMemSetAccess: sets the access of locations to a part of a range. The part must consist of whole
// mappings without gaps.
abi::CUresult set_access(std::uintptr_t start_address, std::size_t bytes,
                         std::span<const abi::CUmemAccessDesc> requested);

// cuMemGetAccess. Memory of the driver that was not mapped by map() reports no access.
abi::CUresult get_access(std::uintptr_t start_address, const abi::CUmemLocation& accessor,
                         abi::CUmemAccess_flags& out);

// Returns true if a device has the `requested` access to all mappings that overlap `bytes` bytes
// from an address on. Returns false if the address lies in no reserved range.
[[nodiscard]] bool allows(int device, std::uintptr_t start_address, std::size_t bytes,
                          abi::CUmemAccess_flags requested);

// cuMemRetainAllocationHandle, for the allocation mapped at an address.
abi::CUresult retain(std::uintptr_t start_address, abi::CUmemGenericAllocationHandle* out);

}  // namespace weir::embedded::model::address_space
