// model/address_space.hpp - ranges of addresses that the program reserved, and what it mapped into
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "driver/abi.hpp"

// Reserved addresses belong to no context and no device, and hold nothing until an allocation is
// mapped there: then the address map has a record of the mapping, which says what streams may do
// with it.
//
// What follows answers in the driver's codes and throws std::bad_alloc. Pointers to results are not
// null. Thread safety: all of it, from any thread.
namespace weir::embedded::model::address_space {

// cuMemAddressReserve: at the address that is wished for if it is free, else anywhere. An alignment
// of 0 is the granularity's (physical_memory.hpp).
abi::CUresult reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                      std::uintptr_t& out);

// cuMemAddressFree: a whole range in which nothing is mapped. Waits for nothing; the system has the
// addresses back once work is done that was enqueued while there was.
abi::CUresult free(std::uintptr_t start, std::size_t bytes);

// Does an address lie in a reserved range?
[[nodiscard]] bool is_reserved(std::uintptr_t address);

// cuMemMap: a whole allocation into part of a range. CUDA_ERROR_NOT_SUPPORTED for a part of one.
abi::CUresult map(std::uintptr_t at, std::size_t bytes, std::size_t offset,
                  abi::CUmemGenericAllocationHandle memory);

// cuMemUnmap: whole mappings of a range, and holes. Waits for nothing.
abi::CUresult unmap(std::uintptr_t at, std::size_t bytes);

// cuMemSetAccess: what places may do with whole mappings that lie side by side.
abi::CUresult set_access(std::uintptr_t at, std::size_t bytes,
                         std::span<const abi::CUmemAccessDesc> wanted);

// cuMemGetAccess: of memory of any kind.
abi::CUresult get_access(std::uintptr_t at, const abi::CUmemLocation& accessor,
                         abi::CUmemAccess_flags& out);

// May a device do this with all the bytes from an address on, which are mapped?
[[nodiscard]] bool allows(int device, std::uintptr_t at, std::size_t bytes,
                          abi::CUmemAccess_flags wanted);

// cuMemRetainAllocationHandle: of what is mapped at an address.
abi::CUresult retain(std::uintptr_t at, abi::CUmemGenericAllocationHandle* out);

}  // namespace weir::embedded::model::address_space
