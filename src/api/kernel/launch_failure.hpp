// api/kernel/launch_failure.hpp - why a kernel cannot be launched so.
#pragma once

#include "api/core/check.hpp"

#include <weir/kernel/kernel.hpp>

namespace weir::detail {

[[noreturn, gnu::cold]] void throw_launch_error(errc answer, const char* call, stream_ref stream,
                                                const launch_config& config, const kernel& what,
                                                call_site at);

// A cluster that has blocks in some directions and 0 in others: not one, and not none.
[[noreturn, gnu::cold]] void throw_incomplete_cluster(const launch_config& config, const char* call,
                                                      const kernel* what, call_site at);

// Refuses such a one. `what` is null of a node's parameters, which know only the function.
inline void require_complete_cluster(const launch_config& config, const char* call,
                                     const kernel* what, call_site at) {
  const auto [x, y, z] = config.cluster;
  if ((x == 0 || y == 0 || z == 0) && (x | y | z) != 0) [[unlikely]]
    throw_incomplete_cluster(config, call, what, at);
}

// In captures, which a driver would break over it. With the kernel's context current, or another
// one.
void require_valid_shape(const char* call, stream_ref stream, const launch_config& config,
                         const kernel& what, call_site at);

}  // namespace weir::detail
