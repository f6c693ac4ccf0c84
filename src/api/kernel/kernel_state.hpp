// SPDX-License-Identifier: Apache-2.0
// api/kernel/kernel_state.hpp - cached properties of a kernel.
#pragma once

#include "api/core/check.hpp"

#include <weir/kernel/kernel.hpp>

#include <atomic>
#include <vector>

namespace weir::detail {

// The cached properties of one function. Its address stays valid as long as a kernel object refers
// to it.
struct kernel_state : kernel_info {
  // Queries the parameters. The context must be current.
  kernel_state(CUfunction handle, CUcontext owner_context, call_site at);

  CUcontext context;
  std::vector<kernel_parameter> parameter_list;
  // The block size with the best occupancy without dynamic shared memory; 0: not queried yet.
  std::atomic<unsigned> best_block{0};
};

// Returns the state of `target`. Throws if `target` is empty or this thread runs a host function.
[[nodiscard]] kernel_state& require_open(const kernel& target, const char* call, call_site at);

// Returns `kernel "_Z5scalePff"`, for texts.
[[nodiscard]] std::string describe(const kernel& target);

}  // namespace weir::detail
