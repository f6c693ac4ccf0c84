// SPDX-License-Identifier: Apache-2.0
// api/memory/pool_allocation.hpp - allocation from a pool for callers that free the memory
// themselves.
#pragma once

#include "api/core/check.hpp"

#include <weir/memory/memory_pool.hpp>

#include <cstddef>

namespace weir::detail {

// Implements memory_pool_ref::allocate(). For a pool from retrying(), waits for frees and tries
// again if memory is exhausted.
[[nodiscard]] CUdeviceptr allocate_from(memory_pool_ref pool, stream_ref stream, std::size_t bytes,
                                        call_site at);

}  // namespace weir::detail
