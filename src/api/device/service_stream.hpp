// SPDX-License-Identifier: Apache-2.0
// api/device/service_stream.hpp - weir's internal stream of each device, for calls that need a
// stream when the caller names none.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

namespace weir::detail {

// Returns a non-blocking stream of the primary context. It is created at first use and kept until
// the process ends. weir queues only allocations and frees in it.
[[nodiscard]] stream_ref service_stream(device gpu, call_site at);

}  // namespace weir::detail
