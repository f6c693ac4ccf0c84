// SPDX-License-Identifier: Apache-2.0
// api/kernel/launch_failure.hpp - determines why a kernel launch failed.
#pragma once

#include "api/core/check.hpp"

#include <weir/kernel/kernel.hpp>

namespace weir::detail {

[[noreturn, gnu::cold]] void throw_launch_error(errc answer, const char* call, stream_ref stream,
                                                const launch_config& config, const kernel& target,
                                                call_site at);

// Throws for a cluster that is 0 in some directions only.
[[noreturn, gnu::cold]] void throw_incomplete_cluster(const launch_config& config, const char* call,
                                                      const kernel* target, call_site at);

// Throws if the cluster is 0 in some directions only. `target` is null for the parameters of a
// node, which only have the function.
inline void require_complete_cluster(const launch_config& config, const char* call,
                                     const kernel* target, call_site at) {
  const auto [x, y, z] = config.cluster;
  if ((x == 0 || y == 0 || z == 0) && (x | y | z) != 0) [[unlikely]]
    throw_incomplete_cluster(config, call, target, at);
}

// Checks the shape before a launch in a capture, since a refused launch would invalidate the
// capture. Requires a current context.
void require_valid_shape(const char* call, stream_ref stream, const launch_config& config,
                         const kernel& target, call_site at);

}  // namespace weir::detail
