// api/launch_failure.hpp - why a kernel cannot be launched so.
#pragma once

#include "api/check.hpp"

#include <weir/kernel.hpp>

namespace weir::detail {

[[noreturn, gnu::cold]] void fail_launch(errc answer, const char* call, stream_ref stream, const launch_config& config,
                                         const kernel& what, call_site at);

// In captures, which a driver would break over it. With the kernel's context current, or another one.
void refuse_wrong_shape(const char* call, stream_ref stream, const launch_config& config, const kernel& what,
                        call_site at);

}  // namespace weir::detail
