// SPDX-License-Identifier: Apache-2.0
// weir/testing/lose_device.hpp - a device that fails on request.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>

namespace weir::testing {

/// Makes the embedded devices fail, as a GPU does after a kernel with an invalid address: pending
/// and later work fails with `code`, and every context of the process is lost until the process
/// ends. Call it in a process of its own: EXPECT_EXIT of GoogleTest, or a separate test program.
///
/// Throws: `not_supported` on a GPU; `invalid_value` if `code` is not an error that loses a
/// context, such as `illegal_address` or `launch_failed`. In a capture: allowed. In a host
/// function: allowed. Thread safety: may be called from any thread.
WEIR_EXPORT void lose_device(errc code = errc::illegal_address,
                             call_site at = call_site::current());

}  // namespace weir::testing
