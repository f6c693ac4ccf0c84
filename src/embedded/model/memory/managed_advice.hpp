// model/managed_advice.hpp - what the program said of its managed memory: advice, and where it
// prefetched it to.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/memory/allocation.hpp"

// Managed memory never has to move here, so advice changes nothing; it is kept, page by page,
// because it can be asked for.
//
// What follows throws std::bad_alloc. The bytes lie in live managed memory. Thread safety: all of
// it, from any thread.
namespace weir::embedded::model::managed_advice {

// No place. It has a number all the same, which can be asked for.
inline constexpr abi::CUmemLocation no_location{abi::CU_MEM_LOCATION_TYPE_INVALID,
                                                abi::CU_DEVICE_INVALID};

// Takes one piece of advice about the pages that [address, address + bytes) touches.
void advise(const allocation& memory, std::uintptr_t address, std::size_t bytes,
            abi::CUmem_advise advice, const abi::CUmemLocation& where);

// Notes that they were prefetched. What was, to a device, takes of that one's memory until it ends,
// or is prefetched to another device, wherever it goes meanwhile: as on an H200.
void record_prefetch(const allocation& memory, std::uintptr_t address, std::size_t bytes,
                     const abi::CUmemLocation& where);

// What all of them have in common: a value of CU_MEM_RANGE_ATTRIBUTE_*, as the driver writes it.
// More than one is asked for of CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY only, which fills what is left
// with CU_DEVICE_INVALID.
void query(const allocation& memory, std::uintptr_t address, std::size_t bytes,
           abi::CUmem_range_attribute attribute, std::span<int> out);

// Forgets what was said of memory that ends.
void forget(const allocation& memory) noexcept;

}  // namespace weir::embedded::model::managed_advice
