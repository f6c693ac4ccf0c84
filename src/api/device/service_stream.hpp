// api/device/service_stream.hpp - weir's own stream of each device, for calls that want one where
// the caller names none.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

namespace weir::detail {

// A non-blocking stream of the primary context, made at the first use and kept for as long as the
// process lives. It gets nothing but allocations and frees.
[[nodiscard]] stream_ref service_stream(device gpu, call_site at);

}  // namespace weir::detail
