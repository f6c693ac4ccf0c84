// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/placed_pools.hpp - pools of any allocation type, at any location.
#pragma once

#include "cases/memory/pool/pools.hpp"

namespace weir::conformance {

constexpr auto kPinned = CU_MEM_ALLOCATION_TYPE_PINNED;
constexpr auto kManaged = static_cast<CUmemAllocationType>(2);  // CU_MEM_ALLOCATION_TYPE_MANAGED
constexpr size_t kBytes = 64 << 10;

// Returns a pool with these properties, or null if it cannot be created.
CUmemoryPool make_at(CUmemLocation at, CUmemAllocationType type, CUresult& res, size_t most = 0,
                     unsigned handles = 0);

}  // namespace weir::conformance
