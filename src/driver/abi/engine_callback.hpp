// SPDX-License-Identifier: Apache-2.0
// driver/abi/engine_callback.hpp - callbacks of the embedded driver's engine.
#pragma once

namespace weir::detail {

// A callback that is called once when a point in a stream's work is reached, by the thread that
// completes the operation before it.
// `reached` has to return quickly, because the engine's thread waits for it. The object must exist
// until the call, or until the notification is cancelled.
struct engine_callback {
  void (*reached)(engine_callback& self) noexcept = nullptr;
};

}  // namespace weir::detail
