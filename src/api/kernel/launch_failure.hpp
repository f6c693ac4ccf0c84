// SPDX-License-Identifier: Apache-2.0
// api/kernel/launch_failure.hpp - determines why a kernel launch failed.
#pragma once

#include "api/core/check.hpp"

#include <weir/kernel/kernel.hpp>

namespace weir::detail {

// Throws the error for a launch that failed with `answer`. Determines the reason from the
// configuration and the kernel.
[[noreturn, gnu::cold]] void throw_launch_error(errc answer, const char* call, stream_ref stream,
                                                const launch_config& config, const kernel& target,
                                                call_site at);

// Throws the error of require_complete_cluster().
[[noreturn, gnu::cold]] void throw_incomplete_cluster(const launch_config& config, const char* call,
                                                      const kernel* target, call_site at);

// Throws if the extent of the cluster is 0 in some directions but not in all. `target` is used in
// the error, and is null for node parameters, whose kernel object is not known.
inline void require_complete_cluster(const launch_config& config, const char* call,
                                     const kernel* target, call_site at) {
  const auto [x, y, z] = config.cluster;
  if ((x == 0 || y == 0 || z == 0) && (x | y | z) != 0) [[unlikely]]
    throw_incomplete_cluster(config, call, target, at);
}

// Throws if the grid, block or shared memory is invalid. Called before a launch in a capture,
// because a launch that the driver refuses would invalidate the capture. A context must be current.
void require_valid_shape(const char* call, stream_ref stream, const launch_config& config,
                         const kernel& target, call_site at);

}  // namespace weir::detail
