// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/managed_advice.hpp - advice on managed memory, and its last prefetch
// locations.
#pragma once

#include <cstddef>
#include <span>

#include "driver/abi.hpp"
#include "embedded/model/memory/allocation.hpp"

// Managed memory never migrates here, so advice has no effect. It is stored page by page, because a
// program can query it.
//
// Functions that are not noexcept throw std::bad_alloc. The bytes must lie in managed memory that
// is still allocated.
// Thread safety: all functions may be called from any thread.
namespace weir::embedded::model::managed_advice {

// Stands for no location. A program can query the ID, so the ID has a defined value.
inline constexpr abi::CUmemLocation no_location{abi::CU_MEM_LOCATION_TYPE_INVALID,
                                                abi::CU_DEVICE_INVALID};

// Stores advice on the pages that [address, address + bytes) touches.
void advise(const allocation& memory, std::uintptr_t address, std::size_t bytes,
            abi::CUmem_advise advice, const abi::CUmemLocation& location);

// Records a prefetch of the pages that [address, address + bytes) touches. As on an H200, pages
// that were prefetched to a device count against its memory until they are freed or prefetched to
// another device. A prefetch to the host does not end that count.
void record_prefetch(const allocation& memory, std::uintptr_t address, std::size_t bytes,
                     const abi::CUmemLocation& location);

// Gets the value of a CU_MEM_RANGE_ATTRIBUTE_* that all pages have in common, in the format of
// cuMemRangeGetAttribute. `out` has several elements only for CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
// unused elements become CU_DEVICE_INVALID.
void query(const allocation& memory, std::uintptr_t address, std::size_t bytes,
           abi::CUmem_range_attribute attribute, std::span<int> out);

// Removes all advice on memory that is being freed. Its pages no longer count against any device.
void forget(const allocation& memory) noexcept;

}  // namespace weir::embedded::model::managed_advice
